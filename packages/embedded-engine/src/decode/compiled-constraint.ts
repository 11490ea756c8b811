import type { ConstraintSession, ConstraintWork, Constraints, StructuredOutput } from "@heddle/structured-outputs";
import { HeddleError } from "@heddle/errors";

/** A valid constraint that any number of completions can use. */
export interface CompiledConstraint {
  /** Opens a session for another completion. */
  session(): ConstraintSession;
  /** Frees the session that no completion has taken. */
  close(): void;
}

/**
 * Compiles a constraint; rejects if it is invalid. Only the first session is opened now, the others when their
 * completions start.
 */
export async function compileConstraint(
  constraints: Constraints,
  output: StructuredOutput,
  work: ConstraintWork = {},
): Promise<CompiledConstraint> {
  let first: ConstraintSession | undefined = await constraints.compile(output, work);
  return {
    session() {
      const session = first ?? lazySession(() => constraints.compile(output, work));
      first = undefined;
      return session;
    },
    close() {
      first?.close();
      first = undefined;
    },
  };
}

function lazySession(open: () => Promise<ConstraintSession>): ConstraintSession {
  let session: ConstraintSession | undefined;
  let closed = false;
  const opened = (): ConstraintSession => {
    if (session) return session;
    throw new HeddleError("failed", "the constraint was used before its first mask was awaited");
  };
  return {
    async next() {
      session ??= await open();
      if (closed) session.close();
      return session.next();
    },
    accept: (token) => opened().accept(token),
    verify: () => opened().verify(),
    close() {
      closed = true;
      session?.close();
    },
  };
}
