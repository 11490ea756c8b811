import { useState } from "react";
import type { CallField } from "@heddle/client/tracing";
import { Failure } from "../../ui/failure.js";
import { formatCount, formatMoment } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { statuses } from "../calls-search.js";
import type { CallsSearch } from "../calls-search.js";
import { withCondition } from "../where.js";
import type { Operator } from "../where.js";
import { facetPaths, facets, isUnseen, useFacet, useFields, useUserNames } from "./use-facets.js";
import type { Facet } from "./use-facets.js";
import "./facets.css";

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  /** False while the rows are awaited. */
  isOn: boolean;
  onChange: (change: Partial<CallsSearch>) => void;
  onClose: () => void;
}

/** What the calls of the table have in common: each value shows how many, and makes them a condition. */
export function Facets({ onClose, ...props }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const onOpen = (path: string, isOpen: boolean) => {
    setOpen(new Set(isOpen ? [...open, path] : [...open].filter((other) => other !== path)));
  };
  const table = { ...props, open, onOpen };
  return (
    <aside className="facets" aria-label="Facets">
      <p className="facets-head">
        <span className="quiet">Click narrows, − leaves out</span>
        <button className="plain" onClick={onClose} aria-label="Hide the facets">
          ×
        </button>
      </p>
      {facets.map((facet) => (
        <FacetGroups key={facet} facet={facet} {...table} />
      ))}
      <section aria-label="fields">
        <h2>fields</h2>
        <Fields {...table} />
      </section>
    </aside>
  );
}

interface TableProps extends Omit<Props, "onClose"> {
  /** The fields whose values are shown, also while other calls are looked at. */
  open: ReadonlySet<string>;
  onOpen: (path: string, isOpen: boolean) => void;
}

function FacetGroups({ facet, ...table }: TableProps & { facet: Facet }) {
  const { data, error, refetch, isPlaceholderData } = useFacet(table, facet);
  const { search, onChange } = table;
  const groups = (data?.groups ?? []).flatMap(({ key: [name], values: { count } }) =>
    typeof name === "string" ? [{ name, count: count ?? 0 }] : [],
  );
  const names = useUserNames(table.projectId, facet === "user" ? groups.map(({ name }) => name) : []).data;
  if (error !== null && data === undefined)
    return <Failure what={`No counts by ${facet}.`} error={error} onRetry={() => refetch()} />;
  const counted = data?.total.values["count"] ?? 0;
  const other = data?.other?.values["count"];
  if (data !== undefined && groups.length === 0) return undefined;
  const choose = (name: string, operator: Operator) => {
    if (facet === "status") onChange({ status: statuses.find((status) => status === name) });
    else if (facet === "op") onChange({ op: name });
    else onChange({ where: withCondition(search.where, { path: facetPaths[facet], operator, value: name }) });
  };
  return (
    <section aria-label={facet} className={isPlaceholderData ? "is-old" : undefined}>
      <h2>{facet}</h2>
      {data === undefined && <Waiting what="Counting" />}
      <ul>
        {groups.map(({ name, count }) => (
          <Value
            key={name}
            text={name}
            title={names?.get(name)}
            count={count}
            isChosen={facet in search && search[facet as "op"] === name}
            onChoose={() => choose(name, "=")}
            {...(facet in facetPaths && { onLeaveOut: () => choose(name, "≠") })}
          />
        ))}
      </ul>
      {typeof other === "number" && other > 0 && <p className="quiet">others {formatCount(other)}</p>}
      {data?.since !== undefined && (
        <p className="quiet">
          ≈ only calls since {formatMoment(Date.parse(data.since), table.openedAt)}, {formatCount(counted)}
        </p>
      )}
    </section>
  );
}

/** The members of the documents, or of one of them. */
function Fields({ under, ...table }: TableProps & { under?: string }) {
  const { data, error, refetch } = useFields(table, under);
  if (error !== null && data === undefined)
    return <Failure what="The fields cannot be read." error={error} onRetry={() => refetch()} />;
  if (data === undefined) return <Waiting what="Looking at the newest calls" />;
  if (isUnseen(data)) return <Waiting what="The service is busy: looking again" />;
  if (data.fields.length === 0) return <p className="quiet">No fields.</p>;
  return (
    <>
      {under === undefined && (
        <p className="quiet">
          {data.sampled >= data.of.value
            ? `of all ${formatCount(data.sampled)} calls`
            : `of the newest ${formatCount(data.sampled)} of ${data.of.exact ? "" : "≈ "}${formatCount(data.of.value)} calls`}
        </p>
      )}
      {data.fields.map((field) => (
        <Field key={field.path} field={field} sampled={data.sampled} {...table} />
      ))}
    </>
  );
}

function Field({ field, sampled, ...table }: TableProps & { field: CallField; sampled: number }) {
  const { path, present, top, types } = field;
  const { search, onChange, open, onOpen } = table;
  const isOpen = open.has(path);
  const choose = (value: string, operator: "=" | "≠") => {
    // Of a longer text there is the beginning alone.
    const condition = value.length < cutAt ? { path, operator, value } : { path, operator: "contains" as const, value };
    onChange({ where: withCondition(search.where, condition) });
  };
  const values = types.includes("object") ? [] : top;
  return (
    <div className="facets-field">
      <button className="plain" aria-expanded={isOpen} onClick={() => onOpen(path, !isOpen)}>
        <span className="given cut">
          {isOpen ? "▾" : "▸"} {visibleLine(path)}
        </span>
        <span className="quiet">{shareWords(present, sampled)}</span>
      </button>
      {isOpen && types.includes("object") && <Fields under={path} {...table} />}
      {isOpen && (
        <ul>
          {values.map(({ value, count }) => (
            <Value
              key={value}
              text={value}
              count={count}
              isChosen={false}
              onChoose={() => choose(value, "=")}
              {...(value.length < cutAt && { onLeaveOut: () => choose(value, "≠") })}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

/** Characters of a value that the service sends. */
const cutAt = 200;

interface ValueProps {
  text: string;
  /** What people know it by. */
  title?: string | undefined;
  count: number;
  isChosen: boolean;
  onChoose: () => void;
  onLeaveOut?: () => void;
}

function Value({ text, title = text, count, isChosen, onChoose, onLeaveOut }: ValueProps) {
  return (
    <li>
      <button className="plain" aria-pressed={isChosen} onClick={onChoose} title={text}>
        <span className="given cut">{title === "" ? "(empty)" : visibleLine(title)}</span>
        <span className="quiet">{formatCount(count)}</span>
      </button>
      {onLeaveOut !== undefined && (
        <button className="plain" onClick={onLeaveOut} aria-label={`Leave out ${visibleLine(title)}`}>
          −
        </button>
      )}
    </li>
  );
}

const shareWords = (present: number, sampled: number): string => (present === sampled ? "all" : formatCount(present));
