import { jsonType } from "@heddle/exact-json";
import { useState } from "react";
import type { ReactNode } from "react";
import { JsonView } from "../../json/json-view.js";
import { asText } from "../../json/members.js";
import { formatBytes, formatCount } from "../../ui/format.js";
import { LongText } from "../../ui/long-text.js";
import { visibleLine } from "../../ui/visible-text.js";
import { isOwnImage } from "./messages.js";
import type { Message, MessagePart } from "./messages.js";
import "./conversation.css";

/** Messages that are shown at first: the last ones, with the answer. */
const shownMessages = 40;

interface Props {
  messages: readonly Message[];
  /** Says of a message, by its place, which call it is of. */
  renderOrigin?: (place: number) => ReactNode;
}

/** Messages in their order. */
export function Conversation({ messages, renderOrigin }: Props) {
  const [limit, setShown] = useState(shownMessages);
  const hidden = Math.max(0, messages.length - limit);
  return (
    <div className="conversation" role="group" aria-label="Messages">
      {hidden > 0 && (
        <button className="plain" onClick={() => setShown(limit + 200)}>
          {formatCount(hidden)} earlier: show more
        </button>
      )}
      {messages.slice(hidden).map((message, index) => (
        // Messages do not change their places.
        // oxlint-disable-next-line react/no-array-index-key
        <section key={hidden + index} className={message.isOutput ? "message is-output" : "message"}>
          <h3>
            {visibleLine(message.role)}
            {renderOrigin === undefined
              ? message.isOutput && <span className="quiet"> made by this call</span>
              : renderOrigin(hidden + index)}
          </h3>
          {message.parts.map((part, place) => (
            // oxlint-disable-next-line react/no-array-index-key
            <Part key={place} part={part} />
          ))}
          {message.parts.length === 0 && <p className="quiet">Nothing.</p>}
        </section>
      ))}
    </div>
  );
}

function Part({ part }: { part: MessagePart }): ReactNode {
  switch (part.kind) {
    case "text":
      return <LongText className="message-text" text={part.text} />;
    case "reasoning":
      return (
        <details className="message-aside">
          <summary>reasoning, {formatCount(part.text.length)} characters</summary>
          <LongText className="message-text" text={part.text} />
        </details>
      );
    case "tool call":
      return (
        <div className="message-tool">
          <p>
            <span className="quiet">calls</span> <span className="mono given">{visibleLine(part.name)}</span>{" "}
            <Id id={part.id} />
          </p>
          <Value label={`Arguments of ${part.name}`} json={part.json} />
        </div>
      );
    case "tool result":
      return (
        <div className="message-tool">
          <p>
            <span className="quiet">result</span> <Id id={part.id} />
          </p>
          <Value label="Result" json={part.json} />
        </div>
      );
    case "image":
      return <Picture url={part.url} />;
    default:
      return <JsonView label="Part of a message" text={part.json} />;
  }
}

const Id = ({ id }: { id: string | undefined }) =>
  id === undefined ? undefined : <span className="quiet mono given">{visibleLine(id)}</span>;

/** JSON in a text, as arguments come, is shown as JSON where it is some. */
function Value({ label, json }: { label: string; json: string }) {
  const text = asText(json);
  if (jsonType(json) !== "string") return <JsonView label={label} text={json} />;
  return isObject(text) ? <JsonView label={label} text={text} /> : <LongText className="message-text" text={text} />;
}

function isObject(text: string): boolean {
  if (text.length > 100_000 || !/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Nothing is fetched from other hosts: of an image that is elsewhere there is the address. */
function Picture({ url }: { url: string }) {
  if (isOwnImage(url)) {
    return (
      <figure className="message-image">
        <img src={url} alt="In the message" />
        <figcaption className="quiet">{formatBytes(Math.floor((url.length - url.indexOf(",")) * 0.75))}</figcaption>
      </figure>
    );
  }
  return (
    <p>
      <span className="quiet">image, not loaded:</span>{" "}
      <span className="mono given message-text">{visibleLine(url.slice(0, 500))}</span>
    </p>
  );
}
