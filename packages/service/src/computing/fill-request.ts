import { HeddleError } from "@heddle/errors";
import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { scoredVariables } from "../scorers/scored-variables.js";
import type { Scored } from "../scorers/scorer.js";
import { rankingQuestion } from "../scorers/rank-group.js";
import type { GroupMember } from "../scorers/rank-group.js";
import { isMembers } from "../llm-models/members.js";
import type { Members } from "../llm-models/members.js";
import { TemplateFiller } from "../llm-models/template.js";
import { columnsOf, Variables } from "../llm-models/variables.js";

/** What a model object adds to each of its requests. */
export interface RequestTemplate {
  /** Messages with variables. */
  template: JsonText;
  /** Members by the names of the OpenAI API. */
  parameters: JsonText;
}

/** What a judge is asked. */
export interface JudgeQuestion {
  /** Messages with variables. */
  prompt: JsonText;
  /** How the judgement is asked for, instead of as the model object says. */
  responseFormat: JsonText | undefined;
  columnMap: Readonly<Record<string, string>>;
  scored: Scored;
}

/** A request of the OpenAI API without `model`. */
export interface FilledRequest {
  members: Record<string, JsonText>;
  /** Whether the model is asked for JSON. */
  expectsJson: boolean;
}

/** The column that holds messages of the user, which follow those of the template. */
const userInput = "user_input";

/** Fills the template from a row. Throws `invalid` for a row that lacks a variable, and `too_large`. */
export function fillModelRequest({ row, ...model }: RequestTemplate & { row: JsonText }): FilledRequest {
  const variables = new Variables(columnsOf(row));
  const { messages, used } = filledMessages(JSON.parse(model.template) as Members[], variables);
  const usesInput = [...used].some((path) => path.split(".")[0] === userInput);
  const input = usesInput ? undefined : variables.find(userInput);
  if (input !== undefined) for (const message of messagesOf(input)) messages.push(message);
  if (messages.length === 0) {
    throw new HeddleError("invalid", `the model has no messages_template, and the row no column "${userInput}"`);
  }
  return requestOf(messages, JSON.parse(model.parameters) as Members);
}

/** Fills the prompt from what is judged; it follows the template, in which nothing is filled. Throws as `fillModelRequest`. */
export function fillJudgeRequest({
  template,
  parameters,
  ...question
}: RequestTemplate & JudgeQuestion): FilledRequest {
  const { prompt, responseFormat, columnMap, scored } = question;
  const { messages } = filledMessages(JSON.parse(prompt) as Members[], scoredVariables(scored, columnMap));
  const all = [...(JSON.parse(template) as Members[]), ...messages];
  const asked = responseFormat === undefined ? {} : { response_format: JSON.parse(responseFormat) as unknown };
  return requestOf(all, { ...(JSON.parse(parameters) as Members), ...asked });
}

/** What a model is asked that ranks a group. */
export interface RankingQuestion {
  members: readonly GroupMember[];
  rubric: string;
}

/** Asks for a ranking; the question follows the template, in which nothing is filled. Throws `too_large`. */
export function fillRankingRequest({
  template,
  parameters,
  ...question
}: RequestTemplate & RankingQuestion): FilledRequest {
  const { prompt, responseFormat } = rankingQuestion(question);
  const messages = [...(JSON.parse(template) as Members[]), ...prompt];
  return requestOf(messages, { ...(JSON.parse(parameters) as Members), response_format: responseFormat });
}

function filledMessages(
  template: readonly Members[],
  variables: Variables,
): { messages: Members[]; used: ReadonlySet<string> } {
  const filler = new TemplateFiller(variables);
  const messages = template.map((message) =>
    "content" in message ? { ...message, content: filler.fill(message["content"]) } : message,
  );
  return { messages, used: filler.used };
}

function messagesOf(input: JsonText): Members[] {
  const text = stringValue(input);
  if (text !== undefined) return [{ role: "user", content: text }];
  const value: unknown = JSON.parse(input);
  if (value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((message) => {
    if (isMembers(message) && typeof message["role"] === "string") return message;
    throw new HeddleError("invalid", `the column "${userInput}" must be a text, a message or a list of messages`);
  });
}

function requestOf(messages: readonly Members[], parameters: Members): FilledRequest {
  const members = Object.entries({ ...parameters, messages }).map(([key, value]) => [key, JSON.stringify(value)]);
  const { response_format: format } = parameters;
  return {
    members: Object.fromEntries(members) as Record<string, JsonText>,
    expectsJson: isMembers(format) && format["type"] !== "text",
  };
}
