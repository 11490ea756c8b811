import { jsonType } from "@heddle/exact-json";
import { JsonView } from "../json/json-view.js";
import { asText } from "../json/members.js";
import { formatCount } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import type { Item } from "./work/entry.js";

/** Characters that are shown as text; longer ones can be opened in parts. */
const mostCharacters = 20_000;

/** What annotators see of a call. */
export function ItemValues({ item: { callId, values } }: { item: Item }) {
  if (values === undefined) {
    return (
      <section className="queue-values" aria-label="Item">
        <h2>The call was deleted</h2>
        <p className="prose">
          <span className="mono given">{callId}</span> is not there any more. Skip it.
        </p>
      </section>
    );
  }
  return (
    <section className="queue-values" aria-label="Item" tabIndex={0}>
      {values.map(([path, text]) => (
        <div key={path} className="queue-value">
          <h2 className="given mono">{visibleLine(path)}</h2>
          {text === "null" ? <p className="quiet">nothing</p> : <Value path={path} text={text} />}
        </div>
      ))}
    </section>
  );
}

function Value({ path, text }: { path: string; text: string }) {
  if (jsonType(text) !== "string" || text.length > mostCharacters) return <JsonView label={path} text={text} />;
  const plainText = asText(text);
  return (
    <p className="queue-text given">
      {plainText === "" ? (
        <span className="quiet">empty text, {formatCount(0)} characters</span>
      ) : (
        visibleText(plainText)
      )}
    </p>
  );
}
