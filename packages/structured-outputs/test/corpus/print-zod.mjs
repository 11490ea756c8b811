/**
 * Prints JSON schemas of ordinary types as Zod 4 writes them: `npm install zod@4` in an empty directory, then there
 * `node print-zod.mjs > zod.json`.
 */
// Zod is installed for this script alone, which the checks of dependencies must not ask for.
const library = "zod";
const { z } = await import(library);

const category = z.object({
  name: z.string(),
  get children() {
    return z.array(category);
  },
});
const types = {
  boundedText: z.string().min(1).max(100),
  exactLength: z.string().length(6),
  pattern: z.string().regex(/^[A-Z]{3}-\d{4}$/),
  patternWithLength: z
    .string()
    .min(3)
    .max(20)
    .regex(/^[a-z][a-z0-9_]*$/),
  prefixAndLength: z.string().startsWith("sk-").max(20),
  includes: z.string().includes("@").max(30),
  lowercase: z.string().lowercase(),
  email: z.email(),
  emailWithLength: z.email().max(60),
  url: z.url(),
  urlWithLength: z.url().max(200),
  uuid: z.uuid(),
  guid: z.guid(),
  dateTime: z.iso.datetime(),
  dateTimeOffset: z.iso.datetime({ offset: true }),
  date: z.iso.date(),
  time: z.iso.time(),
  duration: z.iso.duration(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  cidrv4: z.cidrv4(),
  base64: z.base64(),
  base64url: z.base64url(),
  cuid: z.cuid(),
  cuid2: z.cuid2(),
  ulid: z.ulid(),
  nanoid: z.nanoid(),
  emoji: z.emoji(),
  jwt: z.jwt(),
  e164: z.e164(),
  hostname: z.hostname(),
  int: z.int(),
  int32: z.int32(),
  uint32: z.uint32(),
  float32: z.float32(),
  float64: z.float64(),
  positiveInt: z.int().positive(),
  nonnegative: z.number().nonnegative(),
  multipleOfFive: z.int().multipleOf(5).min(0).max(1000),
  step: z.number().min(0).max(5).multipleOf(0.5),
  stepOpen: z.number().multipleOf(0.01),
  percent: z.number().min(0).max(100),
  literal: z.literal("ready"),
  literals: z.literal(["a", 1, true, null]),
  enumeration: z.enum(["low", "medium", "high"]),
  nullable: z.string().nullable(),
  optionalAndDefault: z.object({ a: z.string().optional(), b: z.int().default(3), c: z.boolean().nullish() }),
  strictObject: z.strictObject({ id: z.int(), tags: z.array(z.string()).min(1).max(3) }),
  looseObject: z.looseObject({ id: z.int() }),
  catchall: z.object({ id: z.int() }).catchall(z.string()),
  tuple: z.tuple([z.string(), z.int()]),
  tupleWithRest: z.tuple([z.string()], z.boolean()),
  record: z.record(z.string(), z.int()),
  recordOfEnum: z.record(z.enum(["x", "y"]), z.number()),
  partialRecord: z.partialRecord(z.enum(["x", "y"]), z.number()),
  recordOfPattern: z.record(z.string().regex(/^[a-z]{2}$/), z.string().max(5)),
  union: z.union([z.string().max(3), z.int(), z.null()]),
  discriminatedUnion: z.discriminatedUnion("type", [
    z.object({ type: z.literal("circle"), radius: z.number().positive() }),
    z.object({ type: z.literal("square"), side: z.number().positive() }),
  ]),
  intersection: z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() })),
  recursive: category,
  reused: z.object({ left: category, right: category.nullable() }),
  described: z.object({
    n: z
      .int()
      .describe("a count")
      .meta({ title: "N", examples: [1], deprecated: true }),
  }),
  readonly: z.object({ a: z.array(z.int()).readonly() }).readonly(),
  file: z.file().min(1).mime("image/png"),
  never: z.object({ a: z.never().optional() }),
  unknown: z.object({ any: z.unknown(), other: z.any() }),
  templateLiteral: z.templateLiteral(["v", z.int(), ".", z.int()]),
};

const schemas = {};
for (const [name, type] of Object.entries(types)) schemas[name] = z.toJSONSchema(type);
// A component that is used twice is a reference.
schemas.references = z.toJSONSchema(types.reused, { reused: "ref" });
// What the client sends before defaults are filled in.
schemas.input = z.toJSONSchema(types.optionalAndDefault, { io: "input" });
console.log(JSON.stringify(schemas, null, 1));
