import type { AnnotationQueueSchema } from "@heddle/client/tracing";
import { linkToProject } from "../project/project-link.js";
import { useNavigate } from "../router/routing.js";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount, formatDuration } from "../ui/format.js";
import { copyText, showNotice } from "../ui/notice.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { AgreementView } from "./agreement/agreement-view.js";
import { withChoice } from "./fields/answers.js";
import type { Field } from "./fields/field.js";
import { FieldView } from "./fields/field-view.js";
import { numbersOf } from "./fields/numbers.js";
import { ItemValues } from "./item-values.js";
import { workCommands } from "./queue-commands.js";
import { Progress } from "./progress.js";
import type { NoField } from "./use-fields.js";
import { useQueueStats } from "./use-queues.js";
import { useWork } from "./use-work.js";
import { timeLeft } from "./time-left.js";

interface Props {
  projectId: string;
  queue: AnnotationQueueSchema;
  fields: readonly Field[];
  others: readonly NoField[];
  userId: string;
  itemId: string | undefined;
  back: ReactNode;
}

/** The item at hand, and what is asked of it. */
export function WorkView({ projectId, queue, fields, others, userId, itemId, back }: Props) {
  const { params } = linkToProject(projectId);
  const navigate = useNavigate({ from: "/$entity/$project/queues/$queueId" });
  const { work, state } = useWork({ projectId, queueId: queue.id, userId, itemId });
  const { data: stats } = useQueueStats(projectId, queue.id);
  const { current, phase } = state;
  const [at, setAt] = useState(0);
  const [isGuided, setGuided] = useState(queue.description !== "");
  const [isCompared, setCompared] = useState(false);
  const form = useRef<HTMLDivElement>(null);
  const mistakes = useRef(new Map<string, string>());
  const numbered = useMemo(() => numbersOf(fields), [fields]);
  const id = current?.item.id;
  useEffect(() => {
    // The next item begins at its first field, with the keys free.
    setAt(0);
    mistakes.current.clear();
    if (document.activeElement instanceof HTMLElement && form.current?.contains(document.activeElement))
      document.activeElement.blur();
    void navigate({ search: { item: id }, replace: true });
  }, [id, navigate]);

  const edited = (index: number) =>
    form.current?.querySelectorAll<HTMLElement>("[data-field]")[index]?.querySelector<HTMLElement>("[data-edited]");
  const isOpen = current !== undefined;
  const save = () => {
    const wrong = fields.findIndex(({ ref }) => mistakes.current.has(ref));
    if (wrong >= 0) {
      setAt(wrong);
      edited(wrong)?.focus();
      showNotice(`Not saved: ${mistakes.current.get(fields[wrong]?.ref ?? "")}`);
    } else if (fields.length > 0 && current?.answers.size === 0)
      showNotice("Not saved: nothing is answered. s skips the item");
    else work.finish("completed");
  };
  const value = (index: number) => {
    const choice = numbered[index];
    if (!isOpen || choice === undefined) return undefined;
    return () => {
      setAt(fields.indexOf(choice.field));
      work.answer((answers) => withChoice(answers, choice.field, choice.choice.value));
    };
  };
  const move = (step: number) =>
    isOpen && fields.length > 1 ? () => setAt(Math.max(0, Math.min(fields.length - 1, at + step))) : undefined;
  const mayUndo = isOpen
    ? current.earlier.length > 0 || state.hasEarlier || current.outcome !== undefined
    : state.hasEarlier;
  const retry =
    state.failed.length > 0
      ? () => void work.retry()
      : phase === "failed" || phase === "done"
        ? () => void work.lookAgain()
        : undefined;
  const isEntered = fields[at] !== undefined && !numbered.some(({ field }) => field === fields[at]);
  const skip = isOpen && !state.isGone ? () => work.finish("skipped") : undefined;
  const commands = {
    save: isOpen ? save : undefined,
    skip,
    undo: mayUndo || phase === "done" ? () => work.undo() : undefined,
    back: state.hasEarlier ? () => work.back() : undefined,
    forward: isOpen && (state.hasLater || current.outcome !== undefined) ? () => work.next() : undefined,
    nextField: move(1),
    previousField: move(-1),
    edit: isOpen && isEntered ? () => edited(at)?.focus() : undefined,
    value1: value(0),
    value2: value(1),
    value3: value(2),
    value4: value(3),
    value5: value(4),
    value6: value(5),
    value7: value(6),
    value8: value(7),
    value9: value(8),
    retry,
    call: isOpen
      ? () =>
          void navigate({ to: "/$entity/$project/calls/$callId", params: { ...params, callId: current.item.callId } })
      : undefined,
    guideline: queue.description === "" ? undefined : () => setGuided(!isGuided),
    agreement: () => setCompared(!isCompared),
    curl: () =>
      copyText(
        asCurl(serviceUrl(), `/annotation_queues/${queue.id}/items/claim_next`, { project_id: projectId }),
        "the request as curl",
      ),
    queues: () => void navigate({ to: "/$entity/$project/queues", params, search: { at: queue.id } }),
  };
  useCommands({ scope: "Queue" }, workCommands, commands);

  const left = timeLeft(state.took, (stats?.total_items ?? 0) - (stats?.completed_items ?? 0));
  const mine = stats?.annotators?.find(({ user_id }) => user_id === userId);
  return (
    <main className="queue">
      <header className="queue-head">
        {back}
        <h1 className="given cut" title={queue.name}>
          {visibleLine(queue.name)}
        </h1>
        {stats !== undefined && <Progress done={stats.completed_items} total={stats.total_items} />}
        <span className="quiet" role="status">
          {mine !== undefined && `yours ${formatCount(mine.completed + mine.skipped)}`}
          {left !== undefined && phase !== "done" && ` · ~${formatDuration(left)} left`}
          {state.writing > 0 && " · storing…"}
        </span>
      </header>
      {state.notice !== undefined && (
        <p className="queue-notice" role="status">
          {state.notice}
        </p>
      )}
      {state.isGone && (
        <div className={isOpen ? "queue-notice" : "queues-note"} role="status">
          <h2>The queue was deleted</h2>
          <p className="prose">
            Somebody has deleted it meanwhile. What was stored before stays as feedback on the calls.
            {isOpen && (
              <>
                {" "}
                What is on this page and was not stored is kept while the page is open: <kbd>Ctrl+Enter</kbd> stores it
                as feedback on the call, without the queue.
              </>
            )}
          </p>
        </div>
      )}
      {state.failed.length > 0 && (
        <div className="queue-notice">
          <Failure
            what={`${counted(state.failed.length, "item")} could not be stored. Nothing is lost while this page is open${state.isGone ? ", and trying again stores the answers with the calls alone" : ""}.`}
            error={state.failed[0]?.error}
            onRetry={() => work.retry()}
          />
        </div>
      )}
      {isCompared && phase !== "done" && (
        <div className="queue-notice">
          <AgreementView projectId={projectId} queueId={queue.id} />
        </div>
      )}
      {phase === "waiting" && state.error === undefined && (
        <div className="queues-note">
          <Waiting what="Waiting for the next item" />
        </div>
      )}
      {(phase === "failed" || phase === "waiting") && state.error !== undefined && (
        <div className="queues-note">
          <Failure what="The next item cannot be had." error={state.error} onRetry={() => work.lookAgain()} />
        </div>
      )}
      {phase === "done" && (
        <div className="queues-note">
          <h2>{stats?.total_items === 0 ? "The queue has no items" : "Nothing is left for you"}</h2>
          <p className="prose">
            {stats?.total_items === 0 ? (
              <>
                Choose calls on the screen <em>Calls</em> and press <kbd>q</kbd> to put them into the queue.
              </>
            ) : stats !== undefined && stats.completed_items < stats.total_items ? (
              `${counted(stats.total_items - stats.completed_items, "item")} of others are under way. What they leave can be claimed when they close the queue, or ten minutes later.`
            ) : (
              "All items are done."
            )}{" "}
            <kbd>u</kbd> takes back the last one, <kbd>R</kbd> looks again.
          </p>
          <AgreementView projectId={projectId} queueId={queue.id} />
        </div>
      )}
      {current !== undefined && (
        <div className="queue-work" key={current.item.id}>
          <ItemValues item={current.item} />
          <div className="queue-form-side" ref={form}>
            {isGuided && queue.description !== "" && (
              <section className="queue-guideline" aria-label="Guideline">
                <p className="given">{visibleText(queue.description)}</p>
              </section>
            )}
            {current.isLost && (
              <p className="is-running">Another annotator has this item; saving it adds a second answer.</p>
            )}
            {current.outcome !== undefined && (
              <p className="quiet">
                {current.outcome === "completed" ? "✓ Saved. Save again to change it." : "Skipped. Save to answer it."}
              </p>
            )}
            {fields.map((field, index) => (
              <FieldView
                key={field.ref}
                field={field}
                numbered={numbered}
                value={current.answers.get(field.ref)}
                isCurrent={index === at}
                onCurrent={() => setAt(index)}
                onChoose={(chosen) => work.answer((answers) => withChoice(answers, field, chosen))}
                onEnter={(entered) => work.enter(field.ref, entered)}
                onMistake={(mistake) => {
                  if (mistake === undefined) mistakes.current.delete(field.ref);
                  else mistakes.current.set(field.ref, mistake);
                }}
              />
            ))}
            {fields.length === 0 && (
              <p className="quiet">The queue asks for nothing: saving says that the item was seen.</p>
            )}
            {others.map(({ name, reason }) => (
              <p key={name} className="quiet">
                <span className="given">{visibleLine(name)}</span> {reason}
              </p>
            ))}
            <div className="queue-actions">
              <button className="primary" onClick={save}>
                {state.isGone ? "Save with the call" : "Save and next"} <kbd>Ctrl+Enter</kbd>
              </button>
              <button disabled={skip === undefined} onClick={skip}>
                Skip <kbd>s</kbd>
              </button>
              <button disabled={!mayUndo} onClick={() => work.undo()}>
                Undo <kbd>u</kbd>
              </button>
              <button disabled={!state.hasEarlier} onClick={() => work.back()}>
                Back <kbd>←</kbd>
              </button>
            </div>
          </div>
        </div>
      )}
    </main>
  );
}
