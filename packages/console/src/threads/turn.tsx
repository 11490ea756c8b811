import type { CallsPageRawResult } from "@heddle/client/tracing";
import { Link } from "../router/routing.js";
import { useEffect, useRef } from "react";
import { Latency, Status } from "../call-parts/status.js";
import { JsonView } from "../json/json-view.js";
import { membersOf } from "../json/members.js";
import { linkToProject } from "../project/project-link.js";
import { Ago } from "../ui/ago.js";
import { counted, formatCost, formatCount } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { saidByAssistant, saidByUser } from "./turn-texts.js";
import type { Said } from "./turn-texts.js";
import type { TurnFigures } from "./use-turns.js";

type TurnCall = CallsPageRawResult["calls"][number];

interface Props {
  projectId: string;
  call: TurnCall;
  figures: TurnFigures | undefined;
  isCurrent: boolean;
}

/** What was asked, what happened, what was answered. */
export function Turn({ projectId, call, figures, isCurrent }: Props) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) item.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  const inputs = leaf(call, "inputs");
  const output = leaf(call, "output");
  const open = {
    to: "/$entity/$project/calls/$callId",
    params: { ...linkToProject(projectId).params, callId: call.id },
  } as const;
  return (
    <li ref={item} className={isCurrent ? "turn is-current" : "turn"} aria-current={isCurrent ? "true" : undefined}>
      <header className="turn-head">
        <Link {...open} className="given">
          {visibleLine(call.name ?? call.id)}
        </Link>
        <Status status={call.status} />
        <Latency call={call} />
        {figures?.tokens !== undefined && figures.tokens > 0 && <span>{formatCount(figures.tokens)} tokens</span>}
        {figures?.cost !== undefined && <span title={String(figures.cost)}>cost {formatCost(figures.cost)}</span>}
        <span className="quiet">
          <Ago time={call.started_at} />
        </span>
      </header>
      <Speech who="user" said={saidByUser(inputs.text)} cut={inputs} open={open} />
      {figures !== undefined && figures.calls > 1 && <Happened figures={figures} own={call.name} />}
      {call.exception !== undefined && <pre className="turn-text is-error given">✗ {visibleText(call.exception)}</pre>}
      {call.status === "running" ? (
        <p className="is-running">● no answer yet</p>
      ) : (
        <Speech who="assistant" said={saidByAssistant(output.text)} cut={output} open={open} />
      )}
    </li>
  );
}

interface Leaf {
  /** Exact JSON; of a long one its beginning, that is none. */
  text: string | undefined;
  /** How long it is, where only its beginning is there. */
  chars?: number;
}

function leaf({ values, cut }: TurnCall, path: "inputs" | "output"): Leaf {
  const beginning = cut?.[path];
  if (beginning !== undefined) return { text: beginning.text, chars: beginning.chars };
  return { text: values === undefined ? undefined : membersOf(values.text).get(path) };
}

interface SpeechProps {
  who: string;
  said: Said;
  cut: Leaf;
  open: { to: "/$entity/$project/calls/$callId"; params: { entity: string; project: string; callId: string } };
}

function Speech({ who, said, cut, open }: SpeechProps) {
  if (said === undefined && cut.chars === undefined) return undefined;
  return (
    <div className={`speech is-${who}`}>
      <h2>{who}</h2>
      {cut.chars !== undefined ? (
        <>
          <p className="turn-text given">{visibleText(cut.text ?? "")}</p>
          <p>
            <Link {...open}>{counted(cut.chars, "character")} in all: open the call</Link>
          </p>
        </>
      ) : said !== undefined && "text" in said ? (
        <p className="turn-text given">{visibleText(said.text)}</p>
      ) : (
        said !== undefined && <JsonView label={who} text={said.json} />
      )}
    </div>
  );
}

/** The calls below a turn by their ops. */
function Happened({ figures: { calls, errors, ops }, own }: { figures: TurnFigures; own: string | undefined }) {
  const below = ops.filter(({ name, calls: of }) => name !== own || of > 1);
  return (
    <p className="turn-happened quiet">
      {counted(calls - 1, "call")} below
      {errors > 0 && <span className="is-error"> · ✗ {formatCount(errors)} failed</span>}
      {below.length > 0 && ": "}
      {below.map(({ name, calls: of, errors: failed }, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <span className={failed > 0 ? "is-error given" : "given"}>
            {failed > 0 && "✗ "}
            {visibleLine(name === "" ? "without a name" : name)}
          </span>
          {of > 1 && ` ×${formatCount(of)}`}
        </span>
      ))}
    </p>
  );
}
