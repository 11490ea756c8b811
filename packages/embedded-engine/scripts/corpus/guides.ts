import type { Generator, Passage } from "./example.js";
import type { Random } from "./random.js";
import { names, things } from "./words.js";

const hexadecimal = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => random.below(16).toString(16)).join("");

const when = (random: Random): string => {
  const two = (value: number) => String(value).padStart(2, "0");
  return `2026-${two(1 + random.below(12))}-${two(1 + random.below(28))}T${two(random.below(24))}:${two(random.below(60))}:00Z`;
};

const operations = ["greet", "answer", "search", "summarise", "classify", "rank", "translate", "score"];
const models = ["small-model", "heddle/starter", "large-model"];

/**
 * Pieces in the formats of the guides: a heading with a sentence, a table, a shell line, a request, a span, a program.
 */
const formats: ((random: Random) => string)[] = [
  (random) => {
    const rows = random.shuffled([
      "| call | one run of one operation |",
      "| trace | the calls that belong together |",
      "| op | what ran |",
      "| project | where calls live |",
      "| ref | a pointer to a stored value |",
      "| reward | how good an answer was |",
    ]);
    return `## Words\n\n| Word | Meaning |\n| --- | --- |\n${rows.slice(0, 2 + random.below(3)).join("\n")}\n`;
  },
  (random) =>
    `\`\`\`sh\nexport HEDDLE_API_KEY=$(cat .heddle/api-key)\ncurl -u api:$HEDDLE_API_KEY http://127.0.0.1:4680/calls/stream_query -d '{"project_id":"local/${random.pick(things)}","limit":${1 + random.below(99)}}'\n\`\`\`\n`,
  (random) =>
    `\`\`\`sh\nexport OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4680/otel\nexport OTEL_EXPORTER_OTLP_HEADERS="wandb-api-key=$HEDDLE_API_KEY,project_id=local%2F${random.pick(things)}"\n\`\`\`\n`,
  (random) =>
    `{"project_id": "local/${random.pick(things)}", "op_name": "${random.pick(operations)}", "started_at": "${when(random)}", "inputs": {"name": "${random.pick(names)}"}}\n`,
  (random) =>
    `{"traceId": "${hexadecimal(random, 32)}", "spanId": "${hexadecimal(random, 16)}", "name": "${random.pick(operations)}", "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "${random.below(500)}"}}]}\n`,
  (random) =>
    `{"usage": {"${random.pick(models)}": {"prompt_tokens": ${random.below(200)}, "completion_tokens": ${random.below(200)}, "requests": ${1 + random.below(5)}}}}\n`,
  (random) =>
    `\`\`\`ts\nimport { createTracingClient } from "@heddle/client";\n\nconst tracing = createTracingClient({ baseUrl: "http://127.0.0.1:4680", apiKey: process.env.HEDDLE_API_KEY });\nconst call = await tracing.callStart({ start: { project_id: "local/${random.pick(things)}", op_name: "${random.pick(operations)}" } });\n\`\`\`\n`,
  (random) =>
    `weave:///local/${random.pick(things)}/op/${random.pick(operations)}:${hexadecimal(random, 8)} is a ref. It points to a version of an op.\n`,
  (random) =>
    `| Status | Meaning | Try again |\n| --- | --- | --- |\n${random
      .shuffled([
        "| 400 | the request makes no sense | no |",
        "| 401, 403 | no valid key | no |",
        "| 404 | it is not there | no |",
        "| 413 | too large | no |",
        "| 422 | a field is missing or wrong | no |",
        "| 429, 503 | too much at once | yes |",
        "| 500 | a fault of the service | yes |",
      ])
      .slice(0, 2 + random.below(4))
      .join("\n")}\n`,
  (random) =>
    `{"messages": [{"role": "user", "content": "respond with yes, no or maybe"}, {"role": "assistant", "content": "${random.pick(["yes", "no", "maybe"])}"}], "reward": ${random.pick(["0.0", "0.5", "0.75", "1.0"])}}\n`,
];

export const guide: Generator = (random): Passage => {
  const text = random.pick(formats)(random);
  return { text, key: text };
};
