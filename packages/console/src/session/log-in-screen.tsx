import { serviceUrl } from "./service-url.js";
import { KeyForm } from "./key-form.js";
import "./log-in-screen.css";

/** Asks for a key. `problem` says why a link did not log in. */
export function LogInScreen({ problem }: { problem?: string | undefined }) {
  return (
    <main className="log-in">
      <h1>Heddle</h1>
      <p className="quiet mono given">{serviceUrl()}</p>
      <KeyForm problem={problem} />
      <p className="prose quiet">
        The service prints the owner’s key when it starts in a terminal, and keeps it in the file <code>api-key</code>{" "}
        of its data directory. <code>heddle open</code> prints a link that logs in without a key.
      </p>
      <p>
        <a href="../docs/">Documentation</a>
      </p>
    </main>
  );
}
