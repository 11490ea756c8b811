import type { Loc } from "@heddle/errors";
import { invalidAt } from "./field-checks.js";
import type { ChatTemplate } from "@heddle/chat-format";
import type { SequenceBuilder } from "./training-sequence.js";
import { sequenceBuilder } from "./training-sequence.js";
import type { Turn } from "./turns.js";

/**
 * Returns the tokens of a history whose prompts were not recorded. The chat template is rendered with a marker instead
 * of every trained turn (without its tool calls, which the sampled tokens contain). The text between the markers is
 * tokenized, and the sampled tokens replace the markers. The text after the last marker is omitted.
 *
 * An end-of-turn token that was sampled and is also written by the template is included once. An empty think block that
 * the template adds before a turn with a think block of its own is removed.
 */
export async function templateSequence(
  turns: Turn[],
  { template, tools, kwargs, loc }: { template: ChatTemplate; tools: unknown; kwargs: unknown; loc: Loc },
): Promise<SequenceBuilder> {
  const { tokenizer } = template;
  const trained = turns.flatMap(({ trained, loc }) =>
    trained ? [{ loc, turn: trained, ids: trained.tokens.ids }] : [],
  );
  let markerCount = 0;
  const messages = turns.map(({ message, trained }) =>
    trained ? { role: "assistant", content: marker(markerCount++) } : message,
  );
  const text = await template.renderText({
    messages,
    tools,
    kwargs,
    addGenerationPrompt: false,
    locs: { messages: [...loc, "messages_and_choices"], tools: [...loc, "tools"] },
  });

  const sequence = sequenceBuilder(trained[0]?.loc ?? loc);
  let at = 0;
  let before: number | undefined;
  for (const [index, { ids, turn, loc }] of trained.entries()) {
    const found = text.indexOf(marker(index), at);
    if (found < 0 || text.indexOf(marker(index)) !== text.lastIndexOf(marker(index))) {
      throw invalidAt(loc, "the chat template does not contain this turn exactly once and in order");
    }
    let between = text.slice(at, found);
    if (tokenizer.decode(ids.subarray(0, 8)).startsWith("<think>")) between = between.replace(emptyThoughts, "");
    const [context = new Int32Array()] = await template.encode([between], { continued: index > 0 });
    sequence.context(context[0] === before ? context.subarray(1) : context);
    sequence.trained(turn);
    before = ids.at(-1);
    at = found + marker(index).length;
  }
  return sequence;
}

const emptyThoughts = /<think>\s*<\/think>\s*$/;

/** Returns text of private-use characters, which templates neither search for nor trim. */
function marker(index: number): string {
  return `\u{F0000}heddle:turn ${index}\u{F0001}`;
}
