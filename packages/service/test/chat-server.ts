import { setTimeout as delay } from "node:timers/promises";
import { json, startUpstream } from "./upstream.js";
import type { Received } from "./upstream.js";

interface ChatRequest {
  model: string;
  messages: { role: string; content: string }[];
}

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

/**
 * A server with the chat completions of OpenAI. The first word of the last message says how it responds; the rest is what
 * the model returns. `asked` counts the requests for each text.
 */
export async function startChatServer() {
  const asked = new Map<string, number>();
  /** While it is set, responses wait for it. */
  const gate: { closed: Promise<void> | undefined; waiting: number } = { closed: undefined, waiting: 0 };

  const server = await startUpstream({
    "POST /v1/chat/completions": (response, { body, headers }: Received) => {
      const { messages } = JSON.parse(body) as ChatRequest;
      const text = messages.at(-1)?.content ?? "";
      const times = (asked.get(text) ?? 0) + 1;
      asked.set(text, times);
      const [word = "", ...rest] = text.split(" ");
      const complete = () => json(response, { choices: [{ index: 0, message: { content: rest.join(" ") } }], usage });
      const limit = (retryAfter: string | undefined) => {
        if (times > 1) return complete();
        response.writeHead(429, retryAfter === undefined ? {} : { "retry-after": retryAfter }).end("{}");
      };
      switch (word) {
        case "stall:":
          return;
        case "garbage:":
          return void response.end("<html>");
        case "fail:":
          return json(response, { error: { message: "out of memory" } }, 500);
        case "refuse:":
          return json(response, { error: { message: `bad key ${headers.authorization}` } }, 401);
        case "limit:":
          return limit("0");
        case "limit-date:":
          return limit(new Date(Date.now() - 1000).toUTCString());
        case "limit-bare:":
          return limit(undefined);
        case "limit-hour:":
          return limit("3600");
        case "wait:":
          gate.waiting += 1;
          void (gate.closed ?? Promise.resolve()).then(complete);
          return;
        case "slow:":
          void delay(15).then(complete);
          return;
        default:
          complete();
      }
    },
  });
  return {
    ...server,
    asked,
    /** Makes requests that begin with `wait:` wait, until the function that it returns is called. */
    closeGate(): () => void {
      let open = () => {};
      gate.waiting = 0;
      gate.closed = new Promise((resolve) => (open = resolve));
      return () => open();
    },
    waiting: () => gate.waiting,
  };
}
