import type { ToolParameters } from "./argument-text.js";
import type { MessageFormat } from "./block-formats.js";
import type { SentCalls } from "./sent-calls.js";
import type { ToolCallStream } from "./tool-call.js";

/** Holds back a text that may be calls until its end. */
export function messageStream({ starts, read }: MessageFormat, tools: ToolParameters, sent: SentCalls): ToolCallStream {
  let held = "";
  let kind: "unknown" | "text" | "calls" = "unknown";
  return {
    push(text) {
      held += text;
      if (kind === "unknown") kind = kindOf(held.trimStart());
      if (kind === "text") {
        sent.content += held;
        held = "";
      }
      return sent.take();
    },
    end() {
      const calls = kind === "calls" ? read(held.trim(), tools) : undefined;
      if (calls) for (const call of calls) sent.begin(call);
      else sent.content += held;
      return sent.take();
    },
  };

  function kindOf(begun: string): typeof kind {
    if (starts.some((start) => begun.startsWith(start))) return "calls";
    return starts.some((start) => start.startsWith(begun)) ? "unknown" : "text";
  }
}
