import { createChatCompletion } from "@heddle/client/training";
import { useState } from "react";
import type { CSSProperties } from "react";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import type { Choice } from "./answer.js";
import type { Draft } from "./draft.js";
import { withBody } from "./runs.js";
import { comparedTokens, readingOf, sumOf } from "./token-differences.js";
import type { ComparedToken } from "./token-differences.js";

interface Props {
  model: string;
  base: string;
  /** The request as it was answered. */
  draft: Draft;
  choice: Choice;
  promptTokens: number;
}

/** Tokens that are shown; an answer of more is long to look at. */
const mostTokens = 2000;

/** How much likelier a checkpoint finds each token of its answer than its base does. */
export function TokenComparison({ model, base, draft, choice, promptTokens }: Props) {
  const session = useSession();
  const [state, setState] = useState<{ isReading?: true; error?: unknown; tokens?: ComparedToken[] }>({});
  const read = async () => {
    setState({ isReading: true });
    const readingBy = async (by: string) =>
      await createChatCompletion(withBody(session.training, readingOf(draft, choice, by)), { model: by, messages: [] });
    try {
      const [here, there] = await Promise.all([readingBy(model), readingBy(base)]);
      setState({ tokens: comparedTokens(here, there, promptTokens) });
    } catch (error) {
      setState({ error });
    }
  };
  const { tokens } = state;
  if (tokens === undefined) {
    return (
      <>
        <button className="plain at-edge" disabled={state.isReading === true} onClick={() => void read()}>
          Compare its tokens with the base
        </button>
        {state.isReading === true && <Waiting what="Both models read the answer" />}
        {state.error !== undefined && <Failure what="The tokens are not compared." error={state.error} />}
      </>
    );
  }
  const [here, there] = [sumOf(tokens, "here"), sumOf(tokens, "base")];
  return (
    <section aria-label="Tokens compared with the base" className="play-compared">
      <p className="quiet">
        {counted(tokens.length, "token")}: log-probability {here.toFixed(2)} here, {there.toFixed(2)} in the base,
        difference {signed(here - there)}. Marked below: <span className="play-token is-likelier">likelier here</span>{" "}
        and <span className="play-token is-less">less likely here</span>.
      </p>
      <p className="mono play-tokens">
        {tokens.slice(0, mostTokens).map(({ text, here: ours, base: theirs }, at) => (
          <span
            // oxlint-disable-next-line react/no-array-index-key -- a token is its place
            key={at}
            className={ours < theirs ? "play-token is-less" : "play-token is-likelier"}
            style={{ "--share": Math.min(1, Math.abs(ours - theirs) / 3) } as CSSProperties}
            title={`${JSON.stringify(text.slice(0, 200))}: ${ours.toFixed(3)} here, ${theirs.toFixed(3)} in the base, ${signed(ours - theirs)}`}
          >
            {visibleLine(text.slice(0, 200))}
          </span>
        ))}
      </p>
      {tokens.length > mostTokens && (
        <p className="quiet">
          {formatCount(mostTokens)} of {formatCount(tokens.length)} tokens are shown.
        </p>
      )}
    </section>
  );
}

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
