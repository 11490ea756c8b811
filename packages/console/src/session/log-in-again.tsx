import { useEffect, useRef } from "react";
import { KeyForm } from "./key-form.js";
import { useSession } from "./session-context.js";

/** Over the page, which keeps its state: the session has ended in the middle of work. */
export function LogInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="log-in-again" onCancel={(event) => event.preventDefault()}>
      <h2 id="log-in-again">Your session has ended</h2>
      <p className="prose quiet">Log in to go on where you are. Nothing on this page is lost.</p>
      <KeyForm />
      <button className="plain" onClick={() => void session.logOut("here")}>
        Leave this page
      </button>
    </dialog>
  );
}
