-- Runs number $1 up to $2 of a filled server, in SQL that both databases read.
-- A run is a function of its number, so every fill gives the same runs, apart
-- from their times: they end at $4, in microseconds. $3 is how many there are in all.
--
-- Nine in ten belong to the workspace $5, the others to four smaller ones. Most
-- runs succeed and were started by one of 30 keys through the API. A handful is
-- waiting, queued or running; all of these have place 3, so that no worker of
-- the server takes them.
WITH RECURSIVE n(i) AS (
    SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($2 AS BIGINT)
), mixed AS (
    -- a, b and c look random and do not depend on each other.
    SELECT i, (i * 7368787 + 12345) % 999983 AS a, (i * 5915587 + i / 7 * 331 + 77) % 999979 AS b, (i * 3267000 + i / 11 * 977 + 5) % 999961 AS c,
        CAST($4 AS BIGINT) - 2592000000000 / CAST($3 AS BIGINT) * (CAST($3 AS BIGINT) - i) AS at
    FROM n
), placed AS (
    -- The busiest of 200 flows has a sixth of the runs, the calmest one in 600. Ten flows stopped after the first days.
    SELECT mixed.*, at / 1000 AS ms,
        CASE WHEN b % 1000 < 900 THEN CAST($5 AS TEXT) WHEN b % 1000 < 960 THEN 'ws_second' WHEN b % 1000 < 990 THEN 'ws_third' WHEN b % 1000 < 999 THEN 'ws_fourth' ELSE 'ws_fifth' END AS ws,
        a / 1000 * (a / 1000) * (a / 1000) * 200 / 1000000000 AS f
    FROM mixed
), named AS (
    SELECT placed.*, CASE WHEN f BETWEEN 150 AND 159 AND i * 6 > CAST($3 AS BIGINT) THEN 0 ELSE f END AS flow,
        CASE
            WHEN i IN (CAST($3 AS BIGINT) / 3, CAST($3 AS BIGINT) / 3 + 1, CAST($3 AS BIGINT) / 3 + 2) THEN 'form'
            WHEN c % 1000 < 30 THEN 'builder' WHEN c % 1000 < 50 THEN 'mcp' WHEN c % 1000 < 60 THEN 'rerun' ELSE 'api'
        END AS trig,
        CASE
            WHEN i % (CAST($3 AS BIGINT) / 4) = CAST($3 AS BIGINT) / 8 THEN 'waiting'
            WHEN CAST($3 AS BIGINT) - i < 30 THEN 'running' WHEN CAST($3 AS BIGINT) - i < 60 THEN 'queued'
            WHEN f = 0 OR (f BETWEEN 150 AND 159 AND i * 6 > CAST($3 AS BIGINT)) THEN 'succeeded' -- flow 0 never fails
            WHEN c / 1000 % 100 < 4 THEN 'failed' WHEN c / 1000 % 1000 < 60 THEN 'canceled' ELSE 'succeeded'
        END AS state
    FROM placed
), runs_of AS (
    SELECT named.*, CASE
        WHEN i < 12 AND trig = 'api' THEN 'old' WHEN trig IN ('api', 'mcp') THEN substr(CAST(100 + (flow * 7 + b % 3) % 30 AS TEXT), 2) ELSE '' END AS k
    FROM named
)
INSERT INTO runs (id, workspace_id, flow_id, version, draft, document_hash, state, place, attempt, instance_id, run_trigger, key_id, user_id,
    parent_run_id, rerun_from, input_tokens, output_tokens, cost_nano_usd, progress_done, progress_total, seq, run_seq, writes, save, timeout,
    cancel_requested, crashes, created_at, started_at, ended_at, expires_at, deadline_at, waiting_since, erased, gist, webhook, error, metadata, inputs, outputs)
SELECT 'run_' || {{TIME}} || substr(CAST(10000000000000000 + a * 10000000000 + i AS TEXT), 2),
    ws, 'flow_0' || substr(CAST(10000000000000 + flow AS TEXT), 2) || '000000000000',
    CASE WHEN trig = 'builder' THEN 0 ELSE 1 + i * (1 + flow % 12) / CAST($3 AS BIGINT) END, CASE WHEN trig = 'builder' THEN 1 ELSE 0 END,
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', state, CASE WHEN state IN ('queued', 'running', 'waiting') THEN 3 ELSE 0 END,
    1, '', trig, CASE k WHEN '' THEN '' WHEN 'old' THEN 'key_00000000000000000000000099' ELSE 'key_000000000000000000000000' || k END, '',
    '', '', 120 + a % 900, 40 + b % 300, 1300000, 3, 3, 9, 9, 2, 1, 3600000000,
    0, 0, at, at + 900, CASE WHEN state IN ('queued', 'running', 'waiting') THEN 0 ELSE at + 900 + c * 3 END,
    CASE WHEN state IN ('queued', 'running', 'waiting') THEN 0 ELSE at + 900 + c * 3 + 30 * 86400000000 END, 0, 0, '',
    'Ticket ' || i || ': the printer on floor ' || (a % 40), '', CASE state WHEN 'failed' THEN '{"code":"provider_unavailable","message":"The provider did not answer.","node":"chat"}' ELSE '' END,
    '{"order":"A-' || i || '","customer":"customer ' || (b % 500) || '"}',
    '{"ticket":"Ticket ' || i || ': the printer on floor ' || (a % 40) || ' is on fire again, and nobody has called the '
        || CASE WHEN i < 3 THEN 'Zanzibar' WHEN b % 2000 = 7 THEN 'marzipan' ELSE 'other' END
        || ' department yet. '
        || CASE a % 3 WHEN 0 THEN 'Last time it took them an hour to find the stairs, then another to find the printer.' WHEN 1 THEN 'Please send someone who knows where the water is kept, and a towel for the keyboard.' ELSE 'I pressed every button twice and turned it off and on again, which made it worse.' END
        || '","floor":' || (a % 40) || ',"language":"en"}',
    CASE state WHEN 'succeeded' THEN '{"answer":"Thank you for your message. A colleague is on the way to floor ' || (a % 40) || ' with a bucket.","queue":"facilities","urgent":true}' ELSE '' END
FROM runs_of
