/** What `JSON.parse` and `JSON.stringify` would change. */
const exact =
  '{"float": 1.0, "big": 12345678901234567890, "small": 1e-7, "twice": 1, "twice": 2, "10": "b", "2": "a", "text": "\\u00e9\\/"}';

/** Free JSON whose text only an exact reader keeps, with a mark that tells it from others. */
export const exactJson = (mark: string): string => exact.replace("{", `{"run": "${mark}", `);

/** Times of which milliseconds are not all. */
export const exactTimes = { started_at: "2026-04-11T10:20:30.123457", ended_at: "2026-04-11T10:20:31.765431" } as const;

/** What `prepare` has stored to be read exactly; absent where the server did not take it, or no judged operation needs it. */
export interface StoredExactly {
  /** The free JSON of each. */
  json: string;
  callId?: string;
  object?: { object_id: string; digest: string };
  /** Digest of the table. */
  table?: string;
  feedbackId?: string;
}
