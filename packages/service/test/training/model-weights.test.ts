import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeContent } from "../../src/artifacts/store-content.js";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newestCheckpoint } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";
import { group } from "./trajectories.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService();
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

type Request = Parameters<TrainingClient["createModel"]>[0];
type Model = Awaited<ReturnType<TrainingClient["createModel"]>>;

const namesOf = (projectId = newProject()) => {
  const [entity = "", project = ""] = projectId.split("/");
  return { entity, project };
};
const make = async (more: Partial<Request> = {}, as = client) =>
  await as.createModel({ ...namesOf(), name: "agent", base_model: "random:tiny", ...more });

async function trainOnce({ id }: Model): Promise<void> {
  const settings = { model_id: id, trajectory_groups: [group()], experimental_config: { learning_rate: 0.01 } };
  const events = await eventsOf(service, (await createRl(client, settings)).id);
  expect(events.at(-1)?.type).toBe("training_ended");
}

const where = ({ entity, project, name }: Model) => ({ entity, project, name });

async function filesOf(model: Model, version: string): Promise<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {};
  const { files } = await client.listArtifactFiles({ ...where(model), version });
  for (const { path } of files) {
    const response = await service.fetch(
      `http://in-process/v1/artifacts/${model.entity}/${model.project}/${model.name}/versions/${version}/file?path=${path}`,
      { headers: { authorization: `Bearer ${service.owner_key}` } },
    );
    found[path] = Buffer.from(await response.arrayBuffer());
  }
  return found;
}

/** Makes an artifact of the type `lora` of files and returns its URI. */
async function upload(projectId: string, files: Record<string, Buffer | string>, type = "lora"): Promise<string> {
  const stored = [];
  for (const [path, content] of Object.entries(files)) {
    async function* source() {
      yield Buffer.from(content);
    }
    stored.push({ path, sha256: (await storeContent(service.services, projectId, source())).sha256 });
  }
  const artifact = { project_id: projectId, name: `uploaded-${type}`, type, files: stored, created_by: "ann" };
  const { version } = await service.services.control.artifacts.commit(artifact);
  return `heddle-artifact:///${projectId}/uploaded-${type}:v${version.index}`;
}

/** What a model says, and with which log-probabilities. */
async function answerOf({ inference_name: model }: Model, step = "") {
  const messages = [{ role: "user" as const, content: "yes or no?" }];
  const ask = { messages, max_completion_tokens: 6, seed: 1, logprobs: true };
  const { choices } = await client.createChatCompletion({ ...ask, stream: false, model: model + step });
  return choices[0]?.logprobs?.content.map(({ token, logprob }) => [token, logprob]);
}

const refusalOf = async (making: Promise<unknown>) =>
  await making.then(
    () => undefined,
    ({ status, body }: { status: number; body: { detail: [{ loc: string[]; msg: string }] } }) => ({
      status,
      loc: body.detail[0]?.loc,
      msg: body.detail[0]?.msg,
    }),
  );

describe("the adapter of a model", () => {
  test("has the rank, scale and projections of its creation, in training and in what is exported", async () => {
    const lora = { rank: 3, alpha: 12, target_modules: ["v_proj" as const, "q_proj" as const] };
    const model = await make({ lora });
    expect(model).toMatchObject({ lora: { ...lora, target_modules: ["q_proj", "v_proj"] }, init_from: null });
    expect(await client.getModel({ model_id: model.id })).toEqual(model);
    await trainOnce(model);
    const files = await filesOf(model, "step1");
    expect(JSON.parse(files["adapter_config.json"]?.toString() ?? "")).toMatchObject({
      r: 3,
      lora_alpha: 12,
      target_modules: ["q_proj", "v_proj"],
    });
    expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 1, untrained: false });
    expect(await answerOf(model)).not.toEqual(await answerOf(model, ":step0"));
  }, 60_000);

  test("has the defaults of what the request leaves out", async () => {
    expect((await make()).lora).toBeNull();
    const all = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
    expect((await make({ lora: { rank: 4 } })).lora).toEqual({ rank: 4, alpha: 8, target_modules: all });
    expect((await make({ lora: { target_modules: ["q_proj"] } })).lora).toEqual({
      rank: 8,
      alpha: 16,
      target_modules: ["q_proj"],
    });
  });

  test.each([
    [{ rank: 0 }, "rank"],
    [{ rank: 2000 }, "rank"],
    [{ rank: 2.5 }, "rank"],
    [{ alpha: 0 }, "alpha"],
    [{ target_modules: [] }, "target_modules"],
    [{ target_modules: ["embed_tokens"] }, "target_modules"],
  ])("cannot be %j", async (lora, field) => {
    const refused = await refusalOf(make({ lora } as Partial<Request>));
    expect(refused).toMatchObject({ status: 422 });
    expect(refused?.loc?.slice(0, 3)).toEqual(["body", "lora", field]);
  });

  test("of a model that exists is not another one", async () => {
    const names = namesOf();
    const created = await make({ ...names, lora: { rank: 4 } });
    const again = { ...names, return_existing: true };
    expect(await make(again)).toEqual(created);
    expect(await make({ ...again, lora: { rank: 4 } })).toEqual(created);
    await expect(make({ ...again, lora: { rank: 5 } })).rejects.toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("an adapter of rank 4, alpha 8") },
    });
  });
});

describe("step 0 of a new model", () => {
  test("is downloaded as v0: an adapter without effect, of the shape that training begins with", async () => {
    const model = await make({ lora: { rank: 3 } });
    const at = { entity: model.entity, project: model.project, name: model.name };
    const listed = [];
    for await (const version of client.listArtifactVersions(at)) listed.push(version);
    expect(listed).toMatchObject([{ version: "v0", type: "lora", aliases: ["latest", "step0"] }]);
    const files = await filesOf(model, "v0");
    expect(Object.keys(files)).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
    for (const selector of ["step0", "latest"]) expect(await filesOf(model, selector)).toEqual(files);
    expect(JSON.parse(files["adapter_config.json"]!.toString())).toMatchObject({ peft_type: "LORA", r: 3 });
    const continued = await make({
      name: "continued",
      init_from: { artifact: `heddle-artifact:///${Object.values(at).join("/")}:v0` },
    });
    expect(await answerOf(continued)).toEqual(await answerOf(model));
    await trainOnce(model);
    expect((await client.getArtifactVersion({ ...at, version: "latest" })).aliases).toEqual(["latest", "step1"]);
    expect(await filesOf(model, "v1")).not.toEqual(files);
    expect(await answerOf(model, ":v0")).toEqual(await answerOf(continued));
    await expect(client.deleteArtifactVersion({ ...at, version: "v0" })).rejects.toMatchObject({ status: 409 });
    await client.deleteModelCheckpoints({ model_id: model.id, steps: [0] });
    await expect(client.getArtifactVersion({ ...at, version: "v0" })).rejects.toMatchObject({ status: 404 });
  }, 60_000);

  test("needs the name of the model for its artifact", async () => {
    const projectId = newProject();
    await upload(projectId, { "notes.txt": "x" }, "dataset");
    await expect(make({ ...namesOf(projectId), name: "uploaded-dataset" })).rejects.toMatchObject({
      status: 409,
      body: {
        detail: expect.stringContaining("has the type dataset, not lora: choose another name than uploaded-dataset"),
      },
    });
  });
});

describe("a model that begins with other weights", () => {
  test("is a fork of a step: it says the same, learns on its own, and survives its source", async () => {
    const source = await make({ lora: { rank: 3 } });
    await trainOnce(source);
    const first = await answerOf(source);
    await trainOnce(source);
    const fork = await make({ name: "fork", init_from: { model_id: source.id, step: 1 } });
    expect(fork).toMatchObject({ lora: source.lora, init_from: { model_id: source.id, step: 1 } });
    expect(await newestCheckpoint(service, fork.id)).toMatchObject({ step: 0, untrained: false, job_id: null });
    expect(await answerOf(fork)).toEqual(first);
    expect(await answerOf(fork, ":v0")).toEqual(first);
    expect(await filesOf(fork, "step0")).toEqual(await filesOf(source, "v1"));
    const second = await answerOf(source);
    await trainOnce(fork);
    expect(await answerOf(fork)).not.toEqual(first);
    expect(await answerOf(source)).toEqual(second);
    await client.deleteModel({ model_id: source.id });
    expect(await answerOf(fork, ":step0")).toEqual(first);
    const again = { ...where(fork), base_model: "random:tiny", return_existing: true };
    expect(await client.createModel({ ...again, init_from: { model_id: source.id, step: 1 } })).toEqual(fork);
    await expect(client.createModel({ ...again, init_from: { model_id: source.id, step: 2 } })).rejects.toMatchObject({
      status: 409,
    });
  }, 60_000);

  test("continues from an adapter that was uploaded, also one that another program made", async () => {
    const source = await make();
    await trainOnce(source);
    const { "training_state.json": _, ...files } = await filesOf(source, "step1");
    const projectId = newProject();
    const uri = await upload(projectId, files);
    const model = await make({ name: "continued", init_from: { artifact: uri } });
    expect(model).toMatchObject({ init_from: { artifact_digest: expect.any(String) }, lora: { rank: 8, alpha: 16 } });
    expect(await answerOf(model)).toEqual(await answerOf(source));
    await trainOnce(model);
    expect(await newestCheckpoint(service, model.id)).toMatchObject({ step: 1, untrained: false });
  }, 60_000);

  test("needs weights that are there, fit, and may be read", async () => {
    const source = await make();
    await trainOnce(source);
    await trainOnce(source);
    await client.deleteModelCheckpoints({ model_id: source.id, steps: [1] });
    const projectId = newProject();
    const { "training_state.json": _, ...files } = await filesOf(source, "step2");
    const config = JSON.parse(files["adapter_config.json"]?.toString() ?? "") as Record<string, unknown>;
    const changed = async (change: object) =>
      await upload(projectId, { ...files, "adapter_config.json": JSON.stringify({ ...config, ...change }) });
    const header = JSON.stringify({
      "base_model.model.model.embed_tokens.weight": { dtype: "F32", shape: [1, 1], data_offsets: [0, 4] },
    });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const vocabulary = Buffer.concat([length, Buffer.from(header), Buffer.alloc(4)]);
    const cases: [Request["init_from"], string, string | RegExp, Partial<Request>?][] = [
      [{}, "init_from", "needs either model_id or artifact, and not both"],
      [{ model_id: source.id, steps: 2 } as object, "steps", /not|unknown|extra/iu],
      [{ model_id: source.id }, "r", /not|unknown|extra/iu, { lora: { r: 4 } as object }],
      [{ model_id: source.id, artifact: "a" }, "init_from", "needs either model_id or artifact"],
      [{ model_id: source.id, step: 1 }, "step", "the model agent has no checkpoint of step 1"],
      [{ model_id: source.id, step: 9 }, "step", "no checkpoint of step 9"],
      [{ model_id: "0199d3a4-8000-7a11-8b22-3c4d5e6f7081" }, "model_id", "there is no model"],
      [{ model_id: source.id }, "model_id", "random:tiny, not random:small", { base_model: "random:small" }],
      [{ model_id: source.id }, "lora", /rank 8, alpha 16/, { lora: { rank: 4 } }],
      [{ artifact: "/etc/passwd" }, "artifact", "must have the form"],
      [{ artifact: `heddle-artifact:///${projectId}/none:v0` }, "artifact", "no artifact"],
      [{ artifact: await upload(projectId, { "a.txt": "a" }, "dataset") }, "artifact", "the type dataset, not lora"],
      [{ artifact: await upload(projectId, { "a.txt": "a" }) }, "artifact", "has no adapter_config.json"],
      [{ artifact: await changed({ r: 4 }) }, "artifact", /adapter_model\.safetensors.*lora_A/],
      [{ artifact: await changed({ peft_type: "IA3" }) }, "artifact", "peft_type"],
      [
        { artifact: await upload(projectId, files) },
        "artifact",
        /adapter_model\.safetensors/,
        { base_model: "random:small" },
      ],
      [
        { artifact: await changed({ base_model_name_or_path: "somebody/else" }) },
        "artifact",
        "base_model_name_or_path is somebody/else",
        { base_model: "heddle/starter" },
      ],
      [
        { artifact: await upload(projectId, { ...files, "adapter_model.safetensors": vocabulary }) },
        "artifact",
        "another vocabulary",
      ],
    ];
    for (const [from, field, message, more] of cases) {
      const refused = await refusalOf(make({ name: "new", init_from: from ?? {}, ...more }));
      expect([from, refused]).toEqual([
        from,
        { status: 422, loc: expect.arrayContaining(["body", field]), msg: expect.stringMatching(message) },
      ]);
    }
  }, 60_000);

  test("cannot be made of weights that the key may not read", async () => {
    const secret = await make({ ...namesOf(`rival/${newProject().split("/")[1]}`) });
    await trainOnce(secret);
    const alice = service.training(await service.key({ entity: "acme", role: "write" }));
    const own = { entity: "acme", project: namesOf().project };
    const artifact = `${secret.inference_name}:step1`;
    for (const from of [{ model_id: secret.id }, { model_id: secret.id, step: 1 }, { artifact }]) {
      const missing = "artifact" in from ? "no artifact" : "there is no model";
      expect(await refusalOf(make({ ...own, init_from: from }, alice))).toMatchObject({
        status: 422,
        msg: expect.stringContaining(missing),
      });
    }
  }, 60_000);
});
