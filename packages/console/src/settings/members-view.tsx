import { Link } from "../router/routing.js";
import { useMe } from "../data/use-me.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { membersOf } from "./members.js";
import { linkToServicePart } from "./settings-parts.js";
import { useKeys } from "./use-keys.js";

/** Who can reach a project: the users of its keys. */
export function MembersView({ projectId }: { projectId: string }) {
  const me = useMe();
  const isAdmin = me.data?.role === "admin";
  const { data, error, refetch } = useKeys(isAdmin);
  if (me.data !== undefined && !isAdmin) {
    return (
      <p className="prose">
        You are <span className="given">{visibleLine(me.data.user.name)}</span>, and may {me.data.role}. Who else may is
        shown to keys with the role <code>admin</code>.
      </p>
    );
  }
  if (error !== null) return <Failure what="Keys cannot be read." error={error} onRetry={() => refetch()} />;
  if (data === undefined) return <Waiting what="Loading members" />;
  const members = membersOf(projectId, data);
  return (
    <>
      <p className="prose">
        Members are the users of keys that reach this project, besides the owner key of the service, which reaches
        everything. <Link {...linkToServicePart("keys")}>Make or revoke keys</Link>
      </p>
      {members.length === 0 ? (
        <p className="prose">No key reaches this project but the owner key.</p>
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Members">
          <table className="plain-table">
            <thead>
              <tr>
                {["user", "may", "reaches", "keys", "last used"].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {members.map(({ id, name, role, keys, isLimited, lastUsedAt }) => (
                <tr key={id}>
                  <th scope="row" className="given">
                    {visibleLine(name)}
                  </th>
                  <td>{role}</td>
                  <td>{isLimited ? "some projects" : "all projects of the entity"}</td>
                  <td>{counted(keys.length, "key")}</td>
                  <td className="quiet">{lastUsedAt === undefined ? "never" : <Ago time={lastUsedAt} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
