import type { Problem } from "@heddle/server-stub";

/** The error bodies of routes that the spec does not describe, as the clients of each read them. */
export type ErrorForm = "graphql" | "object" | "text";

interface ErrorText {
  mediaType: string;
  text: string;
}

const json = (value: unknown): ErrorText => ({ mediaType: "application/json", text: JSON.stringify(value) });

export const errorForms: Readonly<Record<ErrorForm, (problem: Problem) => ErrorText>> = {
  graphql: ({ message }) => json({ errors: [{ message }] }),
  object: ({ message }) => json({ error: message }),
  text: ({ message }) => ({ mediaType: "text/plain; charset=utf-8", text: `${message}\n` }),
};
