import { feedbackCreateMatching } from "@heddle/client/tracing";
import { useState } from "react";
import { emojis, longestNote, note, reaction } from "../../feedback/kinds.js";
import { useSession } from "../../session/session-context.js";
import { ActionForm } from "./action-form.js";
import type { ActionProps } from "./action-props.js";

/** Gives each of the calls the same feedback. */
export function FeedbackAction(props: ActionProps) {
  const session = useSession();
  const [emoji, setEmoji] = useState<string>(emojis[0]);
  const [text, setText] = useState("");
  const given = text.trim() === "" ? reaction(emoji) : note(text.trim());
  return (
    <ActionForm
      {...props}
      title="Give feedback"
      verb={(calls) => `Give it to ${calls}`}
      act={(calls) => feedbackCreateMatching(session.connection, { project_id: props.projectId, ...calls, ...given })}
      doneWords={(calls) => `Given to ${calls}.`}
    >
      <fieldset className="emojis" disabled={text.trim() !== ""}>
        <legend>Reaction</legend>
        {emojis.map((each) => (
          <label key={each}>
            <input type="radio" name="emoji" checked={emoji === each} onChange={() => setEmoji(each)} /> {each}
          </label>
        ))}
      </fieldset>
      <label>
        Or a note{" "}
        <textarea rows={3} maxLength={longestNote} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
    </ActionForm>
  );
}
