import { Link } from "../router/routing.js";

/** For an address that is none of the console. */
export function NoPage() {
  return (
    <main className="home">
      <h1>There is no such page</h1>
      <p className="prose">
        The console has nothing at this address. <Link to="/">Go to the projects</Link>
      </p>
    </main>
  );
}
