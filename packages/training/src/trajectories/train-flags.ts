import { isJsonObject } from "@heddle/exact-json";
import type { Loc } from "@heddle/errors";
import { invalidAt, listAt } from "./field-checks.js";

/*
 * Fields that say whether a turn is trained: `weight` of OpenAI's fine-tuning format, `train` and `trainable` of other
 * formats, each on a message or on a whole row, and `loss_mask`, which on a row is a list with an entry per message.
 */

const flagNames = ["weight", "train", "trainable", "loss_mask"] as const;
/** Those of Axolotl and ms-swift are flags on messages alone: rows may have data of these names. */
const messageFlagNames = [...flagNames, "training", "loss"] as const;
/** Which parts of a message are trained, for Axolotl. */
const detailNames = ["train_detail", "training_detail"] as const;
const ofMessages: ReadonlySet<string> = new Set([...messageFlagNames, ...detailNames]);
/**
 * Words in the names of fields by which other formats say what is trained. `mask` is true for what is trained in some of
 * them, and for what is not in others, so that these cannot be guessed.
 */
const flagWords = /(?:^|_)(?:un)?(?:train(?:s|ed|ing|able)?|loss|mask(?:s|ed|ing)?|weights?|learn(?:ed|able)?)(?:_|$)/u;
/** Of rows, which may have data of other names. */
const rowFlagWords =
  /(?:^|_)mask(?:s|ed|ing)?(?:_|$)|^(?:(?:message|turn|token|loss|sample|example)_)?weights$|^loss_weight$/u;

/**
 * Whether what carries the flags is trained; undefined when it has none. Throws `invalid` with the location of a flag that
 * is neither 0, 1, true, false nor null, and of one that contradicts another.
 */
export function trainFlag(
  holder: Record<string, unknown>,
  loc: Loc,
  names: readonly string[] = flagNames,
): boolean | undefined {
  refuseOthers(holder, loc, names);
  let found: boolean | undefined;
  for (const name of names) {
    const value = holder[name];
    if (value === undefined || value === null) continue;
    const flag = flagOf(value, [...loc, name]);
    if (found !== undefined && found !== flag) throw invalidAt([...loc, name], `${name} contradicts another flag`);
    found = flag;
  }
  return found;
}

/** As {@link trainFlag}, of a message; also throws `invalid` for what says that parts of it are trained. */
export function messageFlag(message: Record<string, unknown>, loc: Loc): boolean | undefined {
  const detail = detailNames.find((name) => message[name] !== undefined && message[name] !== null);
  if (detail !== undefined)
    throw invalidAt([...loc, detail], `${detail} cannot be followed: turns cannot be trained in part`);
  return trainFlag(message, loc, messageFlagNames);
}

/**
 * Returns for each message of a row whether it says to be trained or not; undefined where nothing is said. A flag of the
 * message precedes those of the row, and these the one around it. Throws `invalid` like {@link trainFlag}, for a `loss_mask` of another length, and for
 * a message that is to be trained and not the assistant's.
 */
export function trainFlags(
  row: Record<string, unknown>,
  messages: readonly unknown[],
  { row: rowLoc, messages: messagesLoc, around }: { row: Loc; messages: Loc; around?: boolean | undefined },
): (boolean | undefined)[] {
  const whole = rowFlag(row, rowLoc) ?? around;
  const mask = row["loss_mask"];
  const listed = Array.isArray(mask) ? maskOf(mask, messages.length, [...rowLoc, "loss_mask"]) : undefined;
  return messages.map((message, index) => {
    if (!isJsonObject(message)) return undefined;
    const own = messageFlag(message, [...messagesLoc, index]);
    if (own === true && roleOf(message) !== "assistant") {
      throw invalidAt([...messagesLoc, index], "only messages of the assistant can be trained");
    }
    return own ?? listed?.[index] ?? whole;
  });
}

/** Throws `invalid` for a field that looks like a flag and is none that is known. */
function refuseOthers(holder: Record<string, unknown>, loc: Loc, names: readonly string[]): void {
  const words = names === messageFlagNames ? flagWords : rowFlagWords;
  for (const [name, value] of Object.entries(holder)) {
    const isEmpty = value === undefined || value === null;
    if (isEmpty || ofMessages.has(name) || !words.test(inSnakeCase(name))) continue;
    throw invalidAt(
      [...loc, name],
      `${name} cannot be followed: what is not trained has ${names.slice(0, -1).join(", ")} or ${names.at(-1)} with 0 or false`,
    );
  }
}

const inSnakeCase = (name: string): string => name.replaceAll(/([a-z\d])([A-Z])|-/gu, "$1_$2").toLowerCase();

/** As {@link trainFlag}, of what has messages: a list of masks is about them alone. */
export function rowFlag(row: Record<string, unknown>, loc: Loc): boolean | undefined {
  const { loss_mask: mask, ...rest } = row;
  return trainFlag(Array.isArray(mask) ? rest : row, loc);
}

/** The message as templates get it. */
export function withoutFlags(message: unknown): unknown {
  if (!isJsonObject(message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([name]) => !ofMessages.has(name)));
}

function maskOf(mask: unknown, messages: number, loc: Loc): boolean[] {
  const entries = listAt(mask, loc).map((entry, index) => flagOf(entry, [...loc, index]));
  if (entries.length === messages) return entries;
  throw invalidAt(
    loc,
    `loss_mask needs an entry for each of the ${messages} messages and has ${entries.length}; masks of tokens are not supported`,
  );
}

function flagOf(value: unknown, loc: Loc): boolean {
  if (value === 0 || value === false) return false;
  if (value === 1 || value === true) return true;
  const field = loc.findLast((step) => typeof step === "string") ?? "";
  throw invalidAt(loc, `${field} must be 0, 1, true or false: turns cannot be trained in part`);
}

/** Choices have their message inside. */
function roleOf(element: Record<string, unknown>): unknown {
  return isJsonObject(element["message"]) ? "assistant" : element["role"];
}
