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

// Returns a cell as it is copied: texts that spreadsheet programs would read as formulas get an apostrophe, as in
// exports of the server. So do those that begin like such a text, so that plainCell can take one off again.
export function safeCell(cell: string): string {
  return /^'*[=+\-@\t\r]/.test(cell) && !isNumber(cell) ? `'${cell}` : cell;
}

// Returns a pasted cell without the apostrophe of safeCell.
export function plainCell(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) && !isNumber(cell.slice(1)) ? cell.slice(1) : cell;
}

function isNumber(cell: string): boolean {
  return /^\+?-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(cell);
}
