-- The patents of Elementwise, 4.1, as `python -m papers patents` reads them: the utility patents that the United States
-- granted from 2006 to 2015, from Google Patents Public Data on BigQuery (IFI CLAIMS and Google, CC BY 4.0).
--
--     sed s/BUCKET/your-bucket/ papers/patents.sql > query.sql
--     bq query --use_legacy_sql=false --dry_run < query.sql      # how many bytes it reads, for which BigQuery charges
--     bq query --use_legacy_sql=false < query.sql
--     gcloud storage cp "gs://your-bucket/patents/us-*.jsonl" .
--
-- The main code comes first. `claims` is one text with all claims.
EXPORT DATA OPTIONS (uri = 'gs://BUCKET/patents/us-*.jsonl', format = 'JSON') AS
SELECT
  publication_number,
  publication_date,
  (SELECT text FROM UNNEST(claims_localized) WHERE language = 'en' AND text != '' LIMIT 1) AS claims,
  ARRAY(SELECT code FROM UNNEST(cpc) WITH OFFSET AS place ORDER BY first DESC, place) AS cpc
FROM `patents-public-data.patents.publications`
WHERE country_code = 'US'
  AND kind_code IN ('B1', 'B2')  -- granted utility patents: no applications, designs, plants, reissues
  AND publication_date BETWEEN 20060101 AND 20151231
  AND EXISTS (SELECT 1 FROM UNNEST(claims_localized) WHERE language = 'en' AND text != '')
  AND ARRAY_LENGTH(cpc) > 0
