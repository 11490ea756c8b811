import { FirstTrace } from "../first-trace/first-trace.js";
import type { CallsSearch } from "./calls-search.js";
import { describeConditions } from "./conditions.js";
import { useUsersOf } from "./facets/use-facets.js";

/** Which condition removes all calls, and what drops it. In a project without calls, how to send one. */
export function NoCalls({
  projectId,
  search,
  onChange,
}: {
  projectId: string;
  search: CallsSearch;
  onChange: (change: CallsSearch) => void;
}) {
  const given = describeConditions(search, useUsersOf(projectId, [search]));
  if (given.length === 0) {
    return (
      <div className="calls-empty">
        <p className="prose">
          <span className="mono given">{projectId}</span> has no calls that your key may read. The first one appears
          here by itself.
        </p>
        <FirstTrace projectId={projectId} />
      </div>
    );
  }
  return (
    <div className="calls-empty">
      <p>There are no such calls. Drop a condition:</p>
      <ul>
        {given.map(({ words, without }, index) => (
          <li key={JSON.stringify(without)}>
            <button onClick={() => onChange(without)}>
              <span className="given">{words}</span>
            </button>{" "}
            {index === given.length - 1 && <kbd>Backspace</kbd>}
          </li>
        ))}
      </ul>
    </div>
  );
}
