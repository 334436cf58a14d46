-- Recordings that are unreadable or damaged, or incomplete because they were full.
SELECT host, recording, max(problem) AS problem,
       sum(CASE WHEN event = 'row' AND function IS NULL THEN calls ELSE uncounted_calls END) AS calls_of_unknown_format,
       max(dropped_events) AS dropped_events, max(overwritten_events) AS overwritten_events,
       max(lost_changes) AS lost_changes, max(lost_audits) AS lost_audits, max(ended_early) AS ended_early
FROM fleet
GROUP BY host, recording
HAVING max(problems) > 0 OR calls_of_unknown_format > 0 OR max(dropped_events) > 0 OR max(overwritten_events) > 0
    OR max(lost_changes) > 0 OR max(lost_audits) > 0 OR max(ended_early)
ORDER BY recording
