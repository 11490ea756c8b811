import type { PreviewGroup, TrainingPreview } from "@heddle/client/training";
import { jsonType } from "@heddle/exact-json";
import { Link } from "../../router/routing.js";
import { useState } from "react";
import { jsonChildren } from "../../json/json-children.js";
import { asText, membersOf } from "../../json/members.js";
import { linkToProject } from "../../project/project-link.js";
import { formatNumber } from "../../training/numbers.js";
import { skippedWords } from "../../training/rollouts/groups.js";
import { counted, formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";

/** Why calls are left out. */
const reasonWords: Record<TrainingPreview["skipped"][number]["reason"], string> = {
  running: "run still",
  failed: "failed",
  no_messages: "have no messages in their inputs",
  no_choice: "have no choice of a chat completion in their output",
  several_choices: "have several choices",
  no_logprobs: "have no log-probabilities",
  other_base_model: "were sampled from another base model",
  no_group: "have nothing where groups are made by",
  no_reward: "have no number as reward",
  low_reward: "have a smaller reward",
  no_preference: "are preferred to no other call",
  no_pair: "have no answer of their group to be compared with",
};

/** Of messages what the last one says: the others are mostly the same in all groups. */
function saidIn(key: string): string {
  const last = jsonType(key) === "array" ? jsonChildren(key, 0, key.length).children.at(-1) : undefined;
  const content = last && membersOf(key.slice(last.from, last.to)).get("content");
  return content !== undefined && jsonType(content) === "string" ? asText(content) : key;
}

/** Characters of what a group has in common. */
const keyCharacters = 300;

/** What a job would be trained on, and what is left out. */
export function TrainPreview({ projectId, preview }: { projectId: string; preview: TrainingPreview }) {
  const { num_calls: calls, num_groups: groups, skipped, warnings, error_message: error } = preview;
  const trained = preview.groups.flatMap((group) => group.calls).reduce((sum, call) => sum + call.trained_tokens, 0);
  return (
    <section className="train-preview" aria-label="What it would be trained on">
      <p role="status">
        {counted(calls, "call")}
        {groups !== null && ` in ${counted(groups, "group")}`}, {counted(trained, "trained token")}
        {groups !== null && groups > preview.groups.length && ` in the first ${formatCount(preview.groups.length)}`}.
      </p>
      {error !== null && <p className="is-error given">✗ {visibleLine(error)}</p>}
      {warnings.map((warning) => (
        <p key={warning} className="is-running given">
          {visibleLine(warning)}
        </p>
      ))}
      {skipped.map(({ reason, count, example }) => (
        <p key={reason} className="quiet prose">
          {counted(count, "call")} left out: {reasonWords[reason]},{" "}
          <CallLink projectId={projectId} id={example}>
            one of them
          </CallLink>
        </p>
      ))}
      {preview.groups.map((group, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a group is its place
        <Group key={index} projectId={projectId} group={group} />
      ))}
    </section>
  );
}

function CallLink({ projectId, id, children }: { projectId: string; id: string; children: string }) {
  return (
    <Link
      to="/$entity/$project/calls/$callId"
      params={{ ...linkToProject(projectId).params, callId: id }}
      search={{}}
      className="given"
    >
      {children}
    </Link>
  );
}

function Group({ projectId, group }: { projectId: string; group: PreviewGroup }) {
  const [isOpen, setOpen] = useState(false);
  const { key, calls, num_calls: count } = group;
  const rewards = calls.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const isEqual = key !== null && rewards.every((reward) => reward === rewards[0]);
  return (
    <div className="train-group">
      <button type="button" className="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden>{isOpen ? "▾" : "▸"}</span>
        <span className="given cut" title={key === null ? undefined : visibleLine(key.slice(0, keyCharacters))}>
          {key === null ? "examples" : visibleLine(saidIn(key).slice(0, keyCharacters))}
        </span>
        <span className="quiet">{counted(count, "call")}</span>
      </button>
      <p className="quiet">
        {rewards.length > 0 &&
          `rewards ${rewards.slice(0, 12).map(formatNumber).join("  ")}${rewards.length > 12 ? " …" : ""}`}
        {isEqual && count > 0 && " · equal: nothing is learned from it"}
      </p>
      {isOpen && (
        <table className="train-calls">
          <thead>
            <tr>
              <th>call</th>
              <th>reward</th>
              <th>advantage</th>
              <th>tokens</th>
              <th>trained</th>
              <th>not trained because</th>
            </tr>
          </thead>
          <tbody>
            {calls.map(({ id, reward, advantage, tokens, trained_tokens, skipped }) => (
              <tr key={id}>
                <td>
                  <CallLink projectId={projectId} id={id}>
                    {visibleLine(id.slice(-12))}
                  </CallLink>
                </td>
                <td>{reward !== null && formatNumber(reward)}</td>
                <td>{advantage !== null && `${advantage > 0 ? "+" : ""}${formatNumber(advantage)}`}</td>
                <td>{tokens !== null && formatCount(tokens)}</td>
                <td>{formatCount(trained_tokens)}</td>
                <td className="quiet">{skipped !== null && skippedWords[skipped]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
