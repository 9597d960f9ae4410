// Tables as spreadsheets put them on the clipboard: cells between tabs, rows between line breaks. A cell
// with either is in quotes, which are doubled in it. The server reads the same format; both run the
// vectors in testdata/tsv.json.

// Returns the rows of a text. A quote that is never closed, or is followed by more text, is part of its cell.
export function readTable(text: string): string[][] {
  text = text.replace(/\r\n?/g, "\n");
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length || row.length;) {
    const quoted = /"((?:[^"]|"")*)"(?=[\t\n]|$)/y;
    quoted.lastIndex = at;
    const found = quoted.exec(text);
    let end: number;
    if (found) {
      row.push(found[1]!.replaceAll('""', '"'));
      end = quoted.lastIndex;
    } else {
      end = at + text.slice(at).search(/[\t\n]|$/);
      row.push(text.slice(at, end));
    }
    if (text[end] === "\t") {
      at = end + 1;
      if (at < text.length) continue;
      row.push("");
    }
    rows.push(row);
    row = [];
    at = end + 1;
  }
  return rows;
}

// Returns the text of rows.
export function writeTable(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(quote).join("\t") + "\n").join("");
}

function quote(cell: string): string {
  return /^"|[\t\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
