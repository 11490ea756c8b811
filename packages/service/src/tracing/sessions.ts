import type { Caller, SessionCheck } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { Problem, reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { currentScope } from "../limits/request-scope.js";
import type { Services } from "../services.js";
import { LogInAttempts } from "../sessions/log-in-attempts.js";
import { setSessionCookie } from "../sessions/session-cookie.js";
import { wireCaller } from "../wire/api-key.js";

export function sessionHandlers({ config, control }: Services): TracingHandlers<Caller>["sessions"] {
  const { keys, sessions } = control;
  const attempts = new LogInAttempts();
  const cookie = (value?: string) =>
    setSessionCookie(currentScope()?.request.header("host") ?? "", config.publicUrls, value);

  return {
    async sessionCreate({ body: { api_key, code }, remoteAddress }) {
      if ((api_key === undefined) === (code === undefined))
        throw new HeddleError("unprocessable", "must have either api_key or code");
      const succeeded = attempts.begin(remoteAddress);
      const check: SessionCheck =
        api_key === undefined ? await sessions.redeemCode(code ?? "") : await keys.check(api_key);
      const scope = currentScope();
      if (check.caller === undefined) {
        if (scope !== undefined) scope.refusedKey = check;
        throw new Problem(401, "The API key or code is unknown, revoked or expired");
      }
      succeeded();
      const session = await sessions.create(check.caller);
      const me = wireCaller(session.caller, await keys.describe(check.caller));
      return reply(200, { token: session.token, me }, { "set-cookie": cookie(session.cookie) });
    },

    async sessionCodeCreate(_, caller) {
      if (caller.session !== undefined)
        throw new HeddleError("forbidden", "A session cannot make a code: send the API key itself");
      const { code, expires_at } = await sessions.createCode(caller);
      return { code, expires_at: formatTime(expires_at) };
    },

    async sessionEnd(_, { session }) {
      if (session === undefined) return { ended: 0 };
      await sessions.end(session.id);
      return reply(200, { ended: 1 }, { "set-cookie": cookie() });
    },

    async sessionsEnd(_, { key_id, session }) {
      const ended = await sessions.endAll(key_id);
      return session === undefined ? { ended } : reply(200, { ended }, { "set-cookie": cookie() });
    },
  };
}
