import { Link } from "../router/routing.js";
import { useMe } from "../data/use-me.js";
import { useSession } from "../session/session-context.js";

const roles = { read: "may read", write: "may read and write", admin: "may do everything" };

/** Who is logged in with which rights, and the way out. */
export function UserMenu() {
  const session = useSession();
  const { data: me } = useMe();
  if (me === undefined) return undefined;
  return (
    <details className="menu">
      <summary>
        <span className="given cut">{me.user.name}</span> <span aria-hidden>▾</span>
      </summary>
      <div className="menu-body">
        <p>
          <span className="given">{me.user.name}</span> of <span className="given">{me.entity}</span>
        </p>
        <p className="quiet">
          {me.owner === true ? "The owner key" : <KeyName {...me.key} />} {roles[me.role]}
          {me.projects !== undefined && ` in ${me.projects.join(", ")}`}.
        </p>
        <a href="../docs/">Documentation</a>
        <Link to="/settings/{-$part}">Keys and system check</Link>
        <button onClick={() => void session.logOut("here")}>Log out</button>
        <button className="plain" onClick={() => void session.logOut("everywhere")}>
          Log out everywhere
        </button>
      </div>
    </details>
  );
}

function KeyName({ prefix, name }: { prefix: string; name: string }) {
  return (
    <>
      The key <span className="mono">{prefix}…</span> {name !== "" && <span className="given">({name})</span>}
    </>
  );
}
