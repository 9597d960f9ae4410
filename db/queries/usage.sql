-- name: AddUsage :exec
INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
    input_tokens, output_tokens, cost_nano_usd, duration, cached_tokens, reasoning_tokens, unpriced_steps)
VALUES (@workspace_id, @day, @key_id, @flow_id, @model, @bucket, @runs, @succeeded, @failed, @canceled, @steps,
    @input_tokens, @output_tokens, @cost_nano_usd, @duration, @cached_tokens, @reasoning_tokens, @unpriced_steps)
ON CONFLICT (workspace_id, day, key_id, flow_id, model, bucket) DO UPDATE
SET runs = usage_daily.runs + excluded.runs, succeeded = usage_daily.succeeded + excluded.succeeded,
    failed = usage_daily.failed + excluded.failed, canceled = usage_daily.canceled + excluded.canceled,
    steps = usage_daily.steps + excluded.steps, input_tokens = usage_daily.input_tokens + excluded.input_tokens,
    output_tokens = usage_daily.output_tokens + excluded.output_tokens,
    cost_nano_usd = usage_daily.cost_nano_usd + excluded.cost_nano_usd, duration = usage_daily.duration + excluded.duration,
    cached_tokens = usage_daily.cached_tokens + excluded.cached_tokens, reasoning_tokens = usage_daily.reasoning_tokens + excluded.reasoning_tokens,
    unpriced_steps = usage_daily.unpriced_steps + excluded.unpriced_steps;

-- name: ListUsage :many
SELECT * FROM usage_full
WHERE workspace_id = @workspace_id AND day >= @from_day AND day <= @to_day
ORDER BY day, key_id, flow_id, model, bucket;

-- name: KeySpent :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject = @key_id) AS BIGINT) AS lost
FROM spent_all
WHERE workspace_id = @workspace_id AND day = @day AND key_id = @key_id;
