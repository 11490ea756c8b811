import { useId, useRef, useState } from "react";
import type { RefObject } from "react";
import { formatMoment } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { useUsersOf } from "./facets/use-facets.js";
import { readWhere, whereWords, withoutCondition, writeWhere } from "./where.js";
import { conditionsOf, readBetween, statuses } from "./calls-search.js";
import type { CallsSearch, Condition, periods } from "./calls-search.js";
import "./conditions.css";

const statusWords: Record<(typeof statuses)[number], string> = {
  success: "succeeded",
  error: "failed",
  running: "run now",
  descendant_error: "failed below",
};
const periodWords: Record<keyof typeof periods, string> = {
  "15m": "the last 15 minutes",
  "1h": "the last hour",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

/** In the time zone of the reader, with the date of both ends. */
function timeWords({ between }: CallsSearch): string {
  const { from, until } = readBetween(between);
  const words = (time: number) => formatMoment(time, 0);
  if (from === undefined) return `before ${words(until ?? 0)}`;
  return until === undefined ? `since ${words(from)}` : `${words(from)} to ${words(until)}`;
}

interface Props {
  projectId: string;
  search: CallsSearch;
  onChange: (change: Partial<CallsSearch>) => void;
  /** Names that the table has. */
  names: readonly string[];
  /** What `/` leads to. */
  textField: RefObject<HTMLInputElement | null>;
  onAdd: () => void;
}

/** Which calls are shown, as a sentence: each word can be changed. */
export function Conditions({ projectId, search, onChange, names, textField, onAdd }: Props) {
  const id = useId();
  const users = useUsersOf(projectId, [search]);
  return (
    <div className="conditions" role="group" aria-label="Which calls are shown">
      <select
        aria-label="All calls or roots of traces"
        value={search.only ?? ""}
        onChange={({ target }) => onChange({ only: target.value === "root" ? "root" : undefined })}
      >
        <option value="">calls</option>
        <option value="root">traces</option>
      </select>
      <span>of</span>
      <Field
        label="Op"
        value={search.op}
        placeholder="any op"
        list={`${id}-names`}
        onChange={(op) => onChange({ op })}
      />
      <datalist id={`${id}-names`}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
      <span>that</span>
      <select
        aria-label="Status"
        value={search.status ?? ""}
        onChange={({ target }) => onChange({ status: statuses.find((status) => status === target.value) })}
      >
        <option value="">have any status</option>
        {statuses.map((status) => (
          <option key={status} value={status}>
            {statusWords[status]}
          </option>
        ))}
      </select>
      <span>in</span>
      <select
        aria-label="Time"
        value={search.between ?? search.since ?? ""}
        onChange={({ target }) =>
          onChange({ since: (target.value || undefined) as CallsSearch["since"], between: undefined })
        }
      >
        <option value="">all time</option>
        {search.between !== undefined && <option value={search.between}>{timeWords(search)}</option>}
        {Object.entries(periodWords).map(([period, words]) => (
          <option key={period} value={period}>
            {words}
          </option>
        ))}
      </select>
      <span>containing</span>
      <Field
        label="Words in any text of a call"
        value={search.text}
        placeholder="any words   /"
        onChange={(text) => onChange({ text })}
        field={textField}
      />
      {readWhere(search.where).map((condition, index) => (
        <span key={writeWhere([condition])} className="condition">
          {index === 0 ? "whose" : "and"}{" "}
          <span className="mono given" title={whereWords(condition)}>
            {visibleLine(whereWords(condition, users))}
          </span>
          <button
            className="plain"
            onClick={() => onChange({ where: withoutCondition(search.where, index) })}
            aria-label={`Drop the condition ${visibleLine(whereWords(condition, users))}`}
          >
            ×
          </button>
        </span>
      ))}
      {search.thread !== undefined && (
        <span>
          of thread <span className="mono given">{search.thread}</span>{" "}
          <button
            className="plain"
            onClick={() => onChange({ thread: undefined })}
            aria-label="Drop the condition on the thread"
          >
            ×
          </button>
        </span>
      )}
      <button onClick={onAdd}>
        + condition <kbd>+</kbd>
      </button>
    </div>
  );
}

interface FieldProps {
  label: string;
  value: string | undefined;
  placeholder: string;
  onChange: (value: string | undefined) => void;
  list?: string;
  field?: RefObject<HTMLInputElement | null>;
}

/** A text that counts once it was entered. */
function Field({ label, value = "", placeholder, onChange, list, field }: FieldProps) {
  const own = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState<string>();
  const enter = () => {
    if (draft !== undefined && draft !== value) onChange(draft || undefined);
    setDraft(undefined);
  };
  const input = field ?? own;
  return (
    <input
      ref={input}
      aria-label={label}
      placeholder={placeholder}
      list={list}
      value={draft ?? value}
      onChange={({ target }) => setDraft(target.value)}
      onBlur={enter}
      onKeyDown={({ key, nativeEvent }) => {
        if (nativeEvent.isComposing) return;
        // What is entered on leaving it: keys are commands again.
        if (key === "Enter") input.current?.blur();
        else if (key === "Escape") {
          setDraft(undefined);
          input.current?.blur();
        }
      }}
    />
  );
}

const conditionWords: Record<Exclude<Condition, "where">, (search: CallsSearch) => string> = {
  op: ({ op }) => `of ${op}`,
  status: ({ status = "success" }) => `that ${statusWords[status]}`,
  since: ({ since = "1h" }) => `in ${periodWords[since]}`,
  between: (search) => `in ${timeWords(search)}`,
  only: () => "that begin traces",
  text: ({ text }) => `containing “${text}”`,
  thread: ({ thread }) => `of thread ${thread}`,
};

/** The conditions in words, each with what drops it; users by the names that are known for their ids. */
export function describeConditions(
  search: CallsSearch,
  users?: ReadonlyMap<string, string>,
): { words: string; without: Partial<CallsSearch> }[] {
  return conditionsOf(search).flatMap((name): { words: string; without: Partial<CallsSearch> }[] => {
    if (name !== "where") return [{ words: conditionWords[name](search), without: { [name]: undefined } }];
    return readWhere(search.where).map((condition, index) => ({
      words: `whose ${whereWords(condition, users)}`,
      without: { where: withoutCondition(search.where, index) },
    }));
  });
}
