-- The columns of `fp32shim report --format jsonl`, for DuckDB and Spark.
(
  event STRING, schema INT,
  recording STRING, host STRING, job_id STRING, "rank" BIGINT, pid BIGINT, executable STRING, version STRING,
  policy_name STRING, policy_revision STRING, policy_sha256 STRING,
  default_precision STRING, floor STRING, cpu_mode STRING,
  -- columns of a row
  function STRING, dtype STRING, device STRING, device_index BIGINT, compute_capability STRING,
  trans_a STRING, trans_b STRING, m BIGINT, n BIGINT, k BIGINT, batch BIGINT,
  caller STRING, scope STRING, "where" STRING, provider STRING,
  requested STRING, source STRING, rule STRING, applied STRING, actual STRING, how STRING, reason STRING, detail STRING,
  status BIGINT, accumulator_as_called STRING, accumulator STRING, mantissa_bits BIGINT, algorithm STRING,
  sizes_folded BOOLEAN, flops DOUBLE, processes BIGINT,
  calls BIGINT, host_ns BIGINT, timed_calls BIGINT, host_ns_min BIGINT, host_ns_max BIGINT, host_ns_median BIGINT,
  gpu_samples BIGINT, gpu_calls BIGINT, gpu_ns BIGINT, gpu_ns_min BIGINT, gpu_ns_max BIGINT,
  "first" STRING, "last" STRING, ran_at STRING, first_ns BIGINT, last_ns BIGINT,
  -- columns of a recording
  state STRING, forked_from BIGINT, command STRING, opened STRING,
  floor_exception STRING, user BIGINT, log_level STRING,
  uncounted_calls BIGINT, dropped_events BIGINT, overwritten_events BIGINT, lost_changes BIGINT,
  opened_ns BIGINT, format_version BIGINT, file_size BIGINT, setting_changes BIGINT, lost_audits BIGINT,
  unseen_children BIGINT, ended_early BOOLEAN, children_only BOOLEAN, problems BIGINT, problem STRING
)
