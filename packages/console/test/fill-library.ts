// Fills a project of a running service with what its library shows, and with conversations.
import type { createTracingClient } from "@heddle/client";

type Client = ReturnType<typeof createTracingClient>;

const questions = [
  "Where is my parcel?",
  "Since when has it been there?",
  "متى يصل الطرد؟",
  "注文が遅れています。",
  "Thanks",
];

/** A dataset, a prompt and an op of two versions each, and calls that got the dataset. */
export async function fillLibrary(client: Client, projectId: string): Promise<void> {
  const publish = async (name: string, val: unknown) =>
    await client.objCreate({ obj: { project_id: projectId, object_id: name, val } });
  const bases = (name: string) => ({ _type: name, _class_name: name, _bases: ["Object", "BaseModel"] });
  const rows = Array.from({ length: 1200 }, (_, index) => ({
    id: index,
    question: questions[index % questions.length],
    expected: { state: index % 3 === 0 ? "sent" : "late", days: index % 7 },
    weight: index / 4,
  }));
  let dataset = "";
  for (const version of [
    rows,
    rows.map((row) => (row.id % 400 === 3 ? { ...row, weight: 2.5 } : row)).slice(0, 1199),
  ]) {
    const { digest } = await client.tableCreate({ table: { project_id: projectId, rows: version } });
    const val = { ...bases("Dataset"), name: "questions", rows: `weave:///${projectId}/table/${digest}` };
    dataset = (await publish("customer-questions", val)).digest;
  }
  for (const rule of ["Be polite.", "Be polite, and brief. Never promise a date."]) {
    const messages = [
      { role: "system", content: `You answer customers of a shop.\n${rule}` },
      { role: "user", content: "{question}" },
    ];
    const val = { ...bases("MessagesPrompt"), _bases: ["Prompt", "Object", "BaseModel"], messages };
    await publish("support-prompt", val);
  }
  for (const limit of [4, 8]) {
    const source = `import weave\n\n\n@weave.op()\ndef retrieve(query: str, limit: int = ${limit}) -> list[str]:\n    """Finds articles."""\n    return index.search(query)[:limit]\n`;
    const { digest } = await client.fileCreate({ project_id: projectId, file: new File([source], "obj.py") });
    await publish("retrieve", { _type: "CustomWeaveType", weave_type: { type: "Op" }, files: { "obj.py": digest } });
  }
  await client.objSetAliases({
    project_id: projectId,
    object_id: "support-prompt",
    digest: "v0",
    aliases: ["production"],
  });
  await client.objAddTags({
    project_id: projectId,
    object_id: "customer-questions",
    digest: dataset,
    tags: ["reviewed"],
  });
  const call = { project_id: projectId, attributes: {}, started_at: new Date().toISOString() };
  for (const name of ["evaluate", "evaluate", "export"]) {
    const inputs = { dataset: `weave:///${projectId}/object/customer-questions:${dataset}` };
    await client.callStart({ start: { ...call, op_name: name, inputs } });
  }
}

/** Conversations of up to five turns, each with calls of a model and of a tool, of which some fail. */
export async function fillThreads(client: Client, projectId: string, threads = 40): Promise<void> {
  const batch: Parameters<Client["callStartBatch"]>[0]["batch"] = [];
  const now = Date.now();
  for (let thread = 0; thread < threads; thread++) {
    for (let turn = 0; turn <= thread % questions.length; turn++) {
      const id = `turn-${thread}-${turn}`;
      const start = now - thread * 5_400_000 - (5 - turn) * 90_000;
      const fails = thread % 6 === 2 && turn === 1;
      const add = (callId: string, parent: string | undefined, name: string, ms: number, end: object) => {
        const common = { project_id: projectId, id: callId };
        const of = { trace_id: `trace-${id}`, thread_id: `customer-${8841 + thread}`, turn_id: id, parent_id: parent };
        const inputs = { question: questions[turn], customer: 8841 + thread };
        const at = (time: number) => new Date(time).toISOString();
        const start_ = { ...common, ...of, op_name: name, started_at: at(start), attributes: {}, inputs };
        batch.push({ mode: "start", req: { start: start_ } });
        batch.push({ mode: "end", req: { end: { ...common, ended_at: at(start + ms), summary: {}, ...end } } });
      };
      const usage = {
        prompt_tokens: 700 + 90 * turn,
        completion_tokens: 60,
        total_tokens: 760 + 90 * turn,
        requests: 1,
      };
      const output = {
        answer: turn % 2 === 0 ? "It left the warehouse on 24 November." : "Since noon.",
        sources: [turn],
      };
      add(id, undefined, "answer", 4000 + 300 * turn, { output });
      add(`${id}-chat`, id, "chat", 2000, { summary: { usage: { "gpt-4o-mini": usage } } });
      const exception = fails ? { exception: "TimeoutError: no response within 9.8 s" } : {};
      add(`${id}-tool`, id, "orders.get", 900, { output: { state: "sent" }, ...exception });
    }
  }
  await client.callStartBatch({ batch });
}
