import type { Rollout, TrainingJob } from "@heddle/client/training";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { VirtualGrid } from "../../grid/virtual-grid.js";
import type { Column } from "../../grid/virtual-grid.js";
import { Failure } from "../../ui/failure.js";
import { counted, formatCount } from "../../ui/format.js";
import { Waiting } from "../../ui/waiting.js";
import { formatNumber } from "../numbers.js";
import { rolloutsCommands } from "../training-commands.js";
import { isActive } from "../training-search.js";
import { groupsOf, ordered, rolloutOrders, skippedWords } from "./groups.js";
import type { RolloutOrder } from "./groups.js";
import { GroupSideBySide } from "./group-side-by-side.js";
import { RolloutView } from "./rollout-view.js";
import { tokenColours } from "./token-view.js";
import { useRollouts } from "./use-rollouts.js";
import "./rollouts.css";

const orderTitles: Record<RolloutOrder, string> = {
  group: "by group",
  reward: "highest reward first",
  advantage: "highest advantage first",
};

interface Props {
  projectId: string;
  job: TrainingJob;
  /** Id of the rollout under the cursor. */
  at: string | undefined;
  onAt: (id: string) => void;
  /** Whether all of the group are shown next to each other. */
  isSide: boolean;
  onSide: () => void;
}

/** What a job was trained on: its rollouts in their groups, and the one under the cursor. */
export function Rollouts({ projectId, job, at, onAt, isSide, onSide }: Props) {
  const { data, error, refetch } = useRollouts(job);
  const [order, setOrder] = useState<RolloutOrder>("group");
  const [colour, setColour] = useState<(typeof tokenColours)[number]>("log-probability");
  const rollouts = useMemo(() => ordered(data?.items ?? [], order), [data, order]);
  const groups = useMemo(() => groupsOf(rollouts), [rollouts]);
  const count = rollouts.length;
  const found = rollouts.findIndex(({ id }) => id === at);
  const current = found >= 0 ? found : count > 0 ? 0 : -1;
  const rollout = rollouts[current];
  const setCurrent = (index: number) => {
    const id = rollouts[Math.max(0, Math.min(count - 1, index))]?.id;
    if (id !== undefined) onAt(id);
  };
  const nextOf = <Value extends string>(all: readonly Value[], value: Value): Value =>
    all[(all.indexOf(value) + 1) % all.length] ?? value;
  const any = count > 0;
  useCommands({ scope: "Rollouts" }, rolloutsCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    order: any ? () => setOrder(nextOf(rolloutOrders, order)) : undefined,
    side: any ? onSide : undefined,
    colour: any ? () => setColour(nextOf(tokenColours, colour)) : undefined,
  });
  const row = useCallback((index: number) => rollouts[index], [rollouts]);
  const equal = [...groups.values()].filter(({ isEqual }) => isEqual).length;
  const skipped = rollouts.filter((each) => each.skipped !== null).length;
  if (job.kind !== "rl")
    return (
      <p className="training-part quiet">Only jobs of RL have rollouts: the examples of this one are its artifact.</p>
    );
  return (
    <section className="training-part" aria-label="Rollouts">
      <div className="curves-bar">
        <h2>
          {data === undefined
            ? "Rollouts"
            : `${counted(groups.size, "group")}, ${counted(count, "rollout")}${data.hasMore ? ", the first ones" : ""}`}
        </h2>
        {any && (
          <>
            <select
              aria-label="Order of the rollouts"
              value={order}
              onChange={({ target }) => setOrder(rolloutOrders.find((each) => each === target.value) ?? "group")}
            >
              {rolloutOrders.map((each) => (
                <option key={each} value={each}>
                  {orderTitles[each]}
                </option>
              ))}
            </select>
            <label>
              tokens by{" "}
              <select
                value={colour}
                onChange={({ target }) =>
                  setColour(tokenColours.find((each) => each === target.value) ?? "log-probability")
                }
              >
                {tokenColours.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
            <button className="plain" aria-pressed={isSide} onClick={onSide}>
              Group side by side <kbd>b</kbd>
            </button>
          </>
        )}
        {equal > 0 && <span>{counted(equal, "group")} with equal rewards: not trained</span>}
        {skipped > 0 && <span className="quiet">nothing is trained of {formatCount(skipped)}</span>}
      </div>
      {data === undefined && error === null && <Waiting what="Loading the rollouts" />}
      {error !== null && <Failure what="The rollouts cannot be read." error={error} onRetry={() => refetch()} />}
      {data !== undefined && !any && (
        <p className="quiet">
          {isActive(job)
            ? "The job has not read its data yet."
            : "Its rollouts are not kept: it ended before it had read them, or they were deleted for those of newer jobs (HEDDLE_KEEP_ROLLOUTS)."}
        </p>
      )}
      {rollout !== undefined && (
        <div className={isSide ? "rollouts is-side" : "rollouts"}>
          <div className="rollouts-list" style={{ height: (count + 1.5) * 28 }}>
            <VirtualGrid
              label="Rollouts of the job"
              columns={columns}
              count={count}
              row={row}
              current={current}
              onCurrent={setCurrent}
              onOpen={setCurrent}
              total={count}
            />
          </div>
          {isSide ? (
            <GroupSideBySide
              projectId={projectId}
              jobId={job.id}
              rollouts={rollouts.filter(({ group }) => group === rollout.group)}
              current={rollout.id}
              group={groups.get(rollout.group)}
              colour={colour}
            />
          ) : (
            <RolloutView
              projectId={projectId}
              jobId={job.id}
              rollout={rollout}
              group={groups.get(rollout.group)}
              colour={colour}
            />
          )}
        </div>
      )}
    </section>
  );
}

const figure = (id: string, title: string, width: number, cell: Column<Rollout>["cell"]): Column<Rollout> => ({
  id,
  title,
  width,
  align: "end",
  cell,
});

const columns: Column<Rollout>[] = [
  figure("group", "group", 64, ({ group }) => group),
  figure("index", "rollout", 64, ({ index }) => index),
  figure("reward", "reward", 76, ({ reward }) => <span title={String(reward)}>{formatNumber(reward)}</span>),
  figure("advantage", "advantage", 84, ({ advantage }) => (
    <span title={String(advantage)}>
      {advantage > 0 && "+"}
      {formatNumber(advantage)}
    </span>
  )),
  figure("tokens", "trained", 76, ({ trained_tokens }) => formatCount(trained_tokens)),
  {
    id: "why",
    title: "not trained because",
    width: 150,
    grows: true,
    cell: ({ skipped }) => skipped !== null && <span title={skippedWords[skipped]}>{skippedWords[skipped]}</span>,
  },
];
