import { visibleLine, visibleText } from "../ui/visible-text.js";
import { messagesOf } from "../json/members.js";

/** A prompt as the model reads it. */
export function PromptText({ text }: { text: string }) {
  const messages = messagesOf(text);
  if (messages.length === 0) return undefined;
  return (
    <section className="version-part">
      <header>
        <h2>prompt</h2>
      </header>
      {messages.map(({ role, content }, index) => (
        // They never move.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="prompt-message">
          {role !== "" && <h3 className="quiet given">{visibleLine(role)}</h3>}
          <p className="given">{visibleText(content)}</p>
        </div>
      ))}
    </section>
  );
}
