import type { ObjSchema } from "@heddle/client/tracing";
import { Link } from "../router/routing.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { Labels } from "./labels.js";
import { titleOf } from "./kinds.js";
import type { Kind } from "./kinds.js";
import { linkToLibrary } from "./library-link.js";

interface Props {
  projectId: string;
  kind: Kind;
  name: string;
  versions: readonly ObjSchema[];
  error: unknown;
  onRetry: () => unknown;
  /** Digest of the version that is shown. */
  current: string | undefined;
  vs: string | undefined;
  onCompare: (digest: string | undefined) => void;
}

/** All versions of a name, newest first. */
export function VersionsList({ projectId, kind, name, versions, error, onRetry, current, vs, onCompare }: Props) {
  return (
    <nav className="versions" aria-label="Versions">
      <Link {...linkToLibrary(projectId, kind)} search={{ at: name }}>
        ← {titleOf[kind].toLowerCase()}
      </Link>
      {error !== null && <Failure what="The versions cannot be read." error={error} onRetry={onRetry} />}
      <ol>
        {versions.map(({ digest, version_index, created_at, aliases, tags }) => (
          <li key={digest} className={digest === current ? "is-current" : undefined}>
            <span className="versions-line">
              <Link
                {...linkToLibrary(projectId, kind, name, digest)}
                aria-current={digest === current ? "page" : undefined}
              >
                v{version_index}
              </Link>
              <span className="quiet">
                <Ago time={created_at} />
              </span>
              {digest !== current && current !== undefined && (
                <button
                  className="plain"
                  aria-pressed={digest === vs}
                  aria-label={`compare with v${version_index}`}
                  onClick={() => onCompare(digest === vs ? undefined : digest)}
                >
                  compare
                </button>
              )}
            </span>
            <Labels aliases={aliases ?? []} tags={tags ?? []} />
          </li>
        ))}
      </ol>
    </nav>
  );
}
