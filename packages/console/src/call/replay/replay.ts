import { membersOf } from "../../json/members.js";
import { shellWord } from "../../data/as-curl.js";

/** Members of inputs that programs record and a chat completion does not take. */
const notSent = new Set(["self", "stream", "stream_options", "extra_headers", "extra_query", "timeout", "http_client"]);

/** Longer ones are nothing for a clipboard, and reading them would hold up the page. */
const longestInputs = 2_000_000;

/** The request of a recorded chat completion, byte for byte; undefined for other calls. */
export function chatRequestOf(inputs: string): string | undefined {
  if (inputs.length > longestInputs) return undefined;
  const members = membersOf(inputs);
  if (!members.has("messages") || !members.has("model")) return undefined;
  const sent = [...members].filter(([name, json]) => !notSent.has(name) && json !== "null");
  return `{${sent.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

const path = "/v1/chat/completions";

export const replayAsCurl = (serviceUrl: string, body: string): string =>
  `curl -u "api:$HEDDLE_API_KEY" -H 'content-type: application/json' ${shellWord(serviceUrl + path)} -d ${shellWord(body)}`;

/** The body is a text, so that its numbers stay as they were sent. */
export const replayAsTypeScript = (serviceUrl: string, body: string): string =>
  `const response = await fetch(${JSON.stringify(serviceUrl + path)}, {
  method: "POST",
  headers: {
    authorization: \`Bearer \${process.env.HEDDLE_API_KEY}\`,
    "content-type": "application/json",
  },
  body: ${JSON.stringify(body)},
});
console.log(await response.json());
`;
