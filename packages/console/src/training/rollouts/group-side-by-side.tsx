import type { Rollout } from "@heddle/client/training";
import { useEffect, useRef } from "react";
import { counted } from "../../ui/format.js";
import type { GroupSum } from "./groups.js";
import { RolloutView } from "./rollout-view.js";
import type { TokenColour } from "./token-view.js";

interface Props {
  projectId: string;
  jobId: string;
  /** Of one group. */
  rollouts: readonly Rollout[];
  /** Id of the one under the cursor. */
  current: string;
  group: GroupSum | undefined;
  colour: TokenColour;
}

/** Columns at most; the cursor is in one of them. */
const mostColumns = 16;

/** What was answered to one question, with what each answer earned. */
export function GroupSideBySide({ projectId, jobId, rollouts, current, group, colour }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    scroller.current?.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  const at = rollouts.findIndex(({ id }) => id === current);
  const first = Math.max(0, Math.min(at - mostColumns / 2, rollouts.length - mostColumns));
  const visible = rollouts.slice(first, first + mostColumns);
  return (
    <div>
      {visible.length < rollouts.length && (
        <p className="quiet">
          {counted(visible.length, "rollout")} of {rollouts.length}, around the one under the cursor
        </p>
      )}
      <div ref={scroller} className="side-by-side" role="group" tabIndex={0} aria-label="The group side by side">
        {visible.map((rollout) => (
          <RolloutView
            key={rollout.id}
            projectId={projectId}
            jobId={jobId}
            rollout={rollout}
            group={group}
            colour={colour}
            isCurrent={rollout.id === current}
          />
        ))}
      </div>
    </div>
  );
}
