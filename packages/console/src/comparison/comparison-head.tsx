import { Link } from "../router/routing.js";
import type { ReactNode } from "react";
import { nameOfCall } from "../call/call-facts.js";
import { Status } from "../call-parts/status.js";
import { linkToProject } from "../project/project-link.js";
import { formatCount, formatDuration, formatMoment } from "../ui/format.js";
import { useNow } from "../ui/use-now.js";
import { visibleLine } from "../ui/visible-text.js";
import type { ComparedTrace } from "./use-compared.js";
import { differenceOf, formats, signed, totalsOf } from "./figures.js";

interface Props {
  projectId: string;
  before: ComparedTrace;
  after: ComparedTrace;
  /** Leads to the table. */
  back: ReactNode;
  onSwap: () => void;
}

const figures = ["time", "tokens", "cost"] as const;

const statusIn = ({ call, outline }: ComparedTrace) => outline.data.status[outline.indexOf(call.id)];
const sameOr = (before: string | undefined, after: string | undefined) => (before === after ? "same" : "other");

/** Both calls as rows, and in what they differ as a third one. */
export function ComparisonHead({ projectId, before, after, back, onSwap }: Props) {
  const now = useNow();
  const totals = [before, after].map(({ call, outline }) => totalsOf(outline, call.id));
  const [a, b] = totals;
  return (
    <header className="comparison-top">
      <p>
        {back}
        <button className="plain" onClick={onSwap}>
          Exchange A and B <kbd>w</kbd>
        </button>
      </p>
      <h1 className="unseen">Two traces</h1>
      <table className="comparison-sides">
        <thead>
          <tr>
            <th scope="col">
              <span className="unseen">side</span>
            </th>
            <th scope="col">call</th>
            <th scope="col">status</th>
            <th scope="col">time</th>
            <th scope="col">tokens</th>
            <th scope="col">cost</th>
            <th scope="col">calls</th>
            <th scope="col">started</th>
          </tr>
        </thead>
        <tbody>
          {[before, after].map(({ call, outline }, side) => {
            const start = Date.parse(call.started_at);
            return (
              <tr key={call.id}>
                <th scope="row">{side === 0 ? "A" : "B"}</th>
                <td>
                  <Link
                    to="/$entity/$project/calls/$callId"
                    params={{ ...linkToProject(projectId).params, callId: call.id }}
                    className="given"
                  >
                    {visibleLine(nameOfCall(call))}
                  </Link>
                </td>
                <td>
                  <Status status={statusIn({ call, outline })} />
                </td>
                {figures.map((of) => {
                  const value = totals[side]?.[of];
                  return <td key={of}>{value === undefined ? "" : formats[of](value)}</td>;
                })}
                <td>
                  {formatCount(outline.data.total)}
                  {!outline.data.complete && (
                    <span title={`Compared are the first ${formatCount(outline.length)}.`}> ✂</span>
                  )}
                </td>
                <td className="quiet">
                  <time dateTime={call.started_at} title={call.started_at}>
                    {formatMoment(start, now)}
                  </time>
                </td>
              </tr>
            );
          })}
          <tr className="comparison-difference">
            <th scope="row">B − A</th>
            <td>{sameOr(nameOfCall(before.call), nameOfCall(after.call))}</td>
            <td>{sameOr(statusIn(before), statusIn(after))}</td>
            {figures.map((of) => (
              <td key={of}>
                {a !== undefined && b !== undefined && (differenceOf(of, a, b) || (a[of] === undefined ? "" : "0"))}
              </td>
            ))}
            <td>{signed(formatCount, after.outline.data.total - before.outline.data.total)}</td>
            <td>{signed(formatDuration, Date.parse(after.call.started_at) - Date.parse(before.call.started_at))}</td>
          </tr>
        </tbody>
      </table>
    </header>
  );
}
