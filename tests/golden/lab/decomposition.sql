-- bias and variance of the predictions of a bench
WITH predicted AS (
  SELECT data_set, learner, "row", any_value("class") AS truth, predicted, count(*) AS n
  FROM "store_0"."main"."predictions"
  GROUP BY data_set, learner, "row", predicted
),
shares AS (
  SELECT
    data_set,
    learner,
    "row",
    any_value(truth) AS truth,
    sum(n) AS total,
    sum(n * n) / (sum(n) * sum(n)) AS squares,
    coalesce(sum(n) FILTER (WHERE predicted = truth), 0) / sum(n) AS right_share,
    min_by(predicted, (-n, predicted)) AS tendency,
    max(n) / sum(n) AS tendency_share
  FROM predicted
  GROUP BY data_set, learner, "row"
),
probabilities AS (
  SELECT data_set, learner, "row", avg(1 - p_true) AS mean_loss, avg((1 - p_true) * (1 - p_true)) AS squared
  FROM "store_0"."main"."predictions"
  GROUP BY data_set, learner, "row"
)
SELECT data_set, learner, 'zero_one', 'Kohavi-Wolpert', avg(1 - right_share),
  avg(0.5 * (1 - 2 * right_share + squares)), avg(0.5 * (1 - squares))
FROM shares
GROUP BY data_set, learner
UNION ALL
SELECT data_set, learner, 'zero_one', 'Webb', avg(1 - right_share),
  avg(CASE WHEN tendency <> truth THEN tendency_share ELSE 0 END),
  avg(1 - right_share - CASE WHEN tendency <> truth THEN tendency_share ELSE 0 END)
FROM shares
GROUP BY data_set, learner
UNION ALL
SELECT data_set, learner, 'squared', 'mean', avg(squared), avg(mean_loss * mean_loss), avg(squared - mean_loss * mean_loss)
FROM probabilities
GROUP BY data_set, learner
ORDER BY ALL;
