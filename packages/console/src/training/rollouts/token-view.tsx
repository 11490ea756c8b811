import { useMemo, useRef } from "react";
import type { CSSProperties } from "react";
import { useRowWindow } from "../../grid/use-row-window.js";
import { visibleLine } from "../../ui/visible-text.js";
import { formatNumber } from "../numbers.js";
import { tokenLines } from "./trajectory.js";
import type { Token } from "./trajectory.js";

export const tokenColours = ["log-probability", "advantage", "mask"] as const;
export type TokenColour = (typeof tokenColours)[number];

const [height, width, mostShown] = [24, 72, 12];

interface Props {
  tokens: readonly Token[];
  colour: TokenColour;
  /** Of the rollout: all of its trained tokens have it. */
  advantage: number;
  isTrained: boolean;
}

/** What was sampled, token by token; of many those in the window are rendered. */
export function TokenView({ tokens, colour, advantage, isTrained }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => tokenLines(tokens, width), [tokens]);
  const { first, end } = useRowWindow(scroller, lines.length, height);
  return (
    <div
      ref={scroller}
      className="tokens mono"
      role="group"
      tabIndex={0}
      aria-label="Tokens"
      style={{ height: Math.min(mostShown, lines.length) * height }}
    >
      <div style={{ height: lines.length * height }}>
        {lines.slice(first, end).map(([from, to], index) => (
          <p key={from} style={{ transform: `translateY(${(first + index) * height}px)` }}>
            {tokens.slice(from, to).map((token, place) => (
              <span
                // oxlint-disable-next-line react/no-array-index-key -- a token is its place
                key={from + place}
                className={classOf(token, colour, advantage, isTrained)}
                style={{ "--share": shareOf(token, colour, advantage) } as CSSProperties}
                title={titleOf(token, from + place)}
              >
                {visibleLine(token.text.slice(0, width))}
              </span>
            ))}
          </p>
        ))}
      </div>
    </div>
  );
}

function classOf({ logprob }: Token, colour: TokenColour, advantage: number, isTrained: boolean): string {
  const trains = isTrained && logprob !== undefined;
  if (colour === "log-probability") return logprob === undefined ? "token is-unknown" : "token is-unlikely";
  if (!trains) return "token is-unknown";
  return colour === "mask" ? "token is-trained" : advantage > 0 ? "token is-reinforced" : "token is-weakened";
}

/** From 0 to 1. */
function shareOf({ logprob }: Token, colour: TokenColour, advantage: number): number {
  if (colour === "log-probability") return logprob === undefined ? 0 : 1 - Math.exp(Math.min(0, logprob));
  return colour === "mask" ? 1 : Math.min(1, Math.abs(advantage) / 2 + 0.2);
}

const titleOf = ({ text, logprob }: Token, place: number): string =>
  `token ${place + 1}: ${JSON.stringify(text.slice(0, 200))}, ${
    logprob === undefined
      ? "no log-probability"
      : `log-probability ${formatNumber(logprob)}, probability ${formatNumber(Math.exp(logprob))}`
  }`;
