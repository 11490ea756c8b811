import { HeddleApiError } from "@heddle/client/tracing";
import { useId, useState } from "react";
import type { FormEvent } from "react";
import { keyMistake } from "./key-mistake.js";
import { useSession } from "./session-context.js";
import "./key-form.css";

/** Logs in by a key. The key is sent once and kept nowhere. */
export function KeyForm({ problem }: { problem?: string | undefined }) {
  const session = useSession();
  const [key, setKey] = useState("");
  const [said, say] = useState(problem);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const mistake = keyMistake(key);
    if (mistake !== undefined) return say(mistake);
    setBusy(true);
    say(undefined);
    try {
      await session.logIn({ api_key: key.trim() });
    } catch (error) {
      say(reasonOf(error));
      setBusy(false);
    }
  };
  return (
    <form className="key-form" onSubmit={(event) => void submit(event)} noValidate>
      {/* Password managers keep a key under a name. */}
      <input
        className="unseen"
        name="username"
        autoComplete="username"
        value="heddle"
        readOnly
        tabIndex={-1}
        aria-hidden
      />
      <label htmlFor={id}>API key</label>
      <div className="key-form-line">
        <input
          id={id}
          name="password"
          type="password"
          className="mono"
          autoComplete="current-password"
          spellCheck={false}
          value={key}
          onChange={({ target }) => setKey(target.value)}
          aria-describedby={`${id}-said`}
          aria-invalid={said !== undefined}
          // The one field of the page.
          autoFocus
        />
        <button className="primary" disabled={busy}>
          {busy ? "Logging in…" : "Log in"}
        </button>
      </div>
      <p id={`${id}-said`} className="key-form-said is-error" role="alert">
        {said !== undefined && `✗ ${said}`}
      </p>
    </form>
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof HeddleApiError)) return String(error);
  if (error.status === 0) return "The service does not respond. Is it running?";
  if (error.status === 401) return "The service does not know this key, or it was revoked.";
  if (error.status === 429 && error.retryAfter !== undefined) {
    return `Too many attempts failed. Try again in ${Math.ceil(error.retryAfter)} s.`;
  }
  return error.reason;
}
