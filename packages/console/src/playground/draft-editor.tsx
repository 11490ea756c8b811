import { useId, useState } from "react";
import { Conversation } from "../call/conversation/conversation.js";
import { messagesOf } from "../call/conversation/messages.js";
import { asText } from "../json/members.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import {
  editMessage,
  messagesIn,
  parametersText,
  roleOf,
  textOfMessage,
  toolNamesIn,
  withMember,
  withMessages,
  withParameters,
  withTools,
} from "./draft.js";
import type { Draft } from "./draft.js";
import { mistakeIn, parametersBehind, parametersShown, strangersIn } from "./parameters.js";
import type { Parameter } from "./parameters.js";

interface Props {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  /** What is wrong, by where it is. */
  onMistakes: (mistakes: ReadonlyMap<string, string>) => void;
}

const toolExample = `[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]`;

const roles = ["system", "user", "assistant", "tool", "developer"];

/** The request: messages, tools and parameters. What is not edited keeps its text. */
export function DraftEditor({ draft, onDraft, onMistakes }: Props) {
  const [mistakes, setMistakes] = useState<ReadonlyMap<string, string>>(new Map());
  const note = (where: string, mistake: string | undefined) => {
    const next = new Map(mistakes);
    if (mistake === undefined) next.delete(where);
    else next.set(where, mistake);
    setMistakes(next);
    onMistakes(next);
  };
  const messages = messagesIn(draft);
  const setMessages = (next: readonly string[]) => onDraft(withMessages(draft, next));
  const change = (index: number, message: string) => setMessages(messages.with(index, message));
  const [json, setJson] = useState<string>();
  const [toolsText, setToolsText] = useState<string>();
  const toolNames = toolNamesIn(draft);
  const strangers = strangersIn(draft);
  const set = parametersBehind.filter(({ name }) => draft.has(name)).length;
  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      json={draft.get(parameter.name)}
      mistake={mistakes.get(parameter.name)}
      onChange={(value, mistake) => {
        note(parameter.name, mistake);
        if (mistake === undefined) onDraft(withMember(draft, parameter.name, value));
      }}
    />
  );
  return (
    <section className="play-draft" aria-label="Request">
      {messages.map((message, index) => (
        // They are edited in place.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="play-message">
          <div className="play-message-head">
            <select
              aria-label={`Role of message ${index + 1}`}
              value={roleOf(message)}
              onChange={({ target }) => change(index, editMessage(message, { role: target.value }))}
            >
              {[...new Set([...roles, roleOf(message)])].map((role) => (
                <option key={role} value={role}>
                  {visibleLine(role)}
                </option>
              ))}
            </select>
            <button
              className="plain"
              aria-label={`Remove message ${index + 1}`}
              onClick={() => setMessages(messages.toSpliced(index, 1))}
            >
              ×
            </button>
          </div>
          {textOfMessage(message) === undefined ? (
            <Conversation messages={messagesOf({ inputs: `{"messages":[${message}]}` })} />
          ) : (
            <textarea
              aria-label={`Message ${index + 1}`}
              rows={Math.min(12, 2 + (textOfMessage(message) ?? "").split("\n").length)}
              value={textOfMessage(message)}
              onChange={({ target }) => change(index, editMessage(message, { content: target.value }))}
            />
          )}
        </div>
      ))}
      <div>
        <button onClick={() => setMessages([...messages, '{"role":"user","content":""}'])}>Add a message</button>
      </div>
      <details className="play-details">
        <summary className="at-edge">
          {toolNames.length === 0 ? "No tools" : `Tools: ${toolNames.slice(0, 10).map(visibleLine).join(", ")}`}
        </summary>
        <textarea
          aria-label="Tools as JSON"
          className="mono"
          rows={toolNames.length === 0 ? 3 : 10}
          placeholder={toolExample}
          value={toolsText ?? draft.get("tools") ?? ""}
          onBlur={() => !mistakes.has("tools") && setToolsText(undefined)}
          onChange={({ target }) => {
            setToolsText(target.value);
            const read = withTools(draft, target.value);
            note("tools", "mistake" in read ? read.mistake : undefined);
            if ("draft" in read) onDraft(read.draft);
          }}
        />
        {mistakes.has("tools") && <p className="is-error">✗ {mistakes.get("tools")}</p>}
      </details>
      <div className="play-parameters">{parametersShown.map(field)}</div>
      <details className="play-details">
        <summary className="at-edge">
          {counted(parametersBehind.length, "further parameter")}
          {set > 0 && `, ${set} set`}
        </summary>
        <div className="play-parameters">{parametersBehind.map(field)}</div>
      </details>
      {strangers.length > 0 && (
        <p className="is-running given">
          The service ignores {strangers.slice(0, 5).map(visibleLine).join(", ")}: chat completions have no such
          parameter.
        </p>
      )}
      <details className="play-details">
        <summary className="at-edge">All parameters as JSON</summary>
        <textarea
          aria-label="Parameters as JSON"
          className="mono"
          rows={8}
          value={json ?? parametersText(draft)}
          onBlur={() => !mistakes.has("json") && setJson(undefined)}
          onChange={({ target }) => {
            setJson(target.value);
            const read = withParameters(draft, target.value);
            note("json", "mistake" in read ? read.mistake : undefined);
            if ("draft" in read) onDraft(read.draft);
          }}
        />
        {mistakes.has("json") && <p className="is-error">✗ {mistakes.get("json")}</p>}
      </details>
    </section>
  );
}

interface FieldProps {
  parameter: Parameter;
  json: string | undefined;
  mistake: string | undefined;
  onChange: (json: string | undefined, mistake: string | undefined) => void;
}

function ParameterField({ parameter, json, mistake, onChange }: FieldProps) {
  const [entered, setEntered] = useState<string>();
  const id = useId();
  const { name, type, values = [] } = parameter;
  const choices = type === "boolean" ? ["true", "false"] : values.map((value) => JSON.stringify(value));
  return (
    <div className="play-parameter">
      <label htmlFor={id} className="mono">
        {name}
      </label>
      {choices.length > 0 ? (
        <select
          id={id}
          value={json ?? ""}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value, undefined)}
        >
          <option value="">not set</option>
          {[...new Set([...choices, ...(json === undefined ? [] : [json])])].map((choice) => (
            <option key={choice} value={choice}>
              {visibleLine(asText(choice))}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          aria-describedby={mistake === undefined ? undefined : `${id}-mistake`}
          inputMode="decimal"
          autoComplete="off"
          placeholder="not set"
          aria-invalid={mistake !== undefined}
          value={entered ?? json ?? ""}
          onBlur={() => mistake === undefined && setEntered(undefined)}
          onChange={({ target }) => {
            setEntered(target.value);
            const text = target.value.trim();
            onChange(text === "" ? undefined : text, mistakeIn(parameter, text));
          }}
        />
      )}
      {mistake !== undefined && (
        <span id={`${id}-mistake`} className="is-error">
          ✗ {mistake}
        </span>
      )}
    </div>
  );
}
