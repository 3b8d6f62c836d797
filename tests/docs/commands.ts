/**
 * How each command in the documents is tested. A command that no entry matches fails `commands_test.ts`: add an entry that
 * runs it, or one that says which test does, or why none can.
 */

/** A command that ends by itself. */
interface Runs {
  /** `call`: a request to a gateway with the sandbox and a fake hub. `ends`: any other command. Both must succeed. */
  how: "call" | "ends";
  /** What its output must match. */
  prints?: RegExp;
}

/** A command that serves until it is stopped. */
interface Serves {
  how: "serves";
  /** Options that make it take a free port. */
  options?: string;
}

interface ByTest {
  how: "by";
  /** The test, or the step of CI, that runs the same. */
  test: string;
}

interface NotHere {
  how: "not";
  /** Why no test can run it. */
  because: string;
}

export type Treatment = Runs | Serves | ByTest | NotHere;

export const TREATMENTS: readonly (readonly [RegExp, Treatment])[] = [
  [/^curl http:\/\/127\.0\.0\.1:8000\/.* (-o|>) \S+$/, { how: "call" }],
  [/^curl http:\/\/127\.0\.0\.1:8000\//, { how: "call", prints: /\S/ }],

  [/^(npx -y deno@\S+|deno) task -q laneway$/, { how: "by", test: "tests/cli/npx_test.ts" }],
  [/^OTEL_DENO=true \S+ deno task -q laneway$/, { how: "by", test: "tests/observe/traces_test.ts" }],
  [/^umask 077; .* && mv \S+\.new \S+$/, { how: "by", test: "tests/providers/renewed_token_test.ts" }],
  [/^npx -y deno@\S+ task test$/, { how: "by", test: ".ci/run" }],
  [/^deno task (check|test|test:clients)$/, { how: "by", test: ".ci/run" }],
  [/^deno bundle .*examples\/worker\/worker\.ts$/, { how: "by", test: "tests/clients/worker_test.ts" }],
  [/^cd examples\/worker$/, { how: "not", because: "the next commands need an account" }],
  [/^npx wrangler /, { how: "not", because: "it needs an account at the host" }],
  [/^npm install --global deno@[\d.]+$/, { how: "not", because: "it installs a program for everybody on the machine" }],
  [/^deno task -q laneway validate gateway\.json$/, { how: "by", test: "tests/docs/tutorial_test.ts" }],
  [/^export \w+=\$\(.*\)$/, { how: "by", test: "tests/docs/tutorial_test.ts" }],
  [/^deno task -q laneway keys create anna /, { how: "ends", prints: /\S{20,}/ }],
  [/^deno task -q laneway keys list$/, { how: "ends", prints: /anna/ }],
  [/^deno task -q laneway keys rotate anna --keep 7d$/, { how: "ends", prints: /^laneway_/ }],
  [/^deno task -q laneway keys revoke anna$/, { how: "ends", prints: /Revoked key "anna"/ }],
  [/^deno task -q laneway --config my\.json keys list$/, { how: "ends" }],
  [/^FETCHER_TOKEN=\S+ deno task -q laneway fetcher /, { how: "by", test: "tests/fetcher/process_test.ts" }],
  [/^deno task -q laneway --workers 4$/, { how: "by", test: "tests/cli/workers_test.ts" }],
  [/^deno task -q laneway usage --by key$/, { how: "by", test: "tests/cli/usage_test.ts" }],
  [/^npx -y deno@\S+ task -q laneway doctor$/, { how: "by", test: "tests/programs/doctor_test.ts" }],
  [/^deno task -q laneway doctor --quick$/, { how: "by", test: "tests/programs/doctor_test.ts" }],
  [/^(npx -y deno@\S+|deno) task -q laneway connect (claude-code|gemini-cli)( .*)?$/, {
    how: "by",
    test: "tests/clients/connect_test.ts",
  }],
  [/^(npx -y deno@\S+|deno) task -q laneway probe http:/, { how: "by", test: "tests/programs/probe_test.ts" }],
  [/^systemctl reload caddy$/, {
    how: "not",
    because: "it changes the system; tests/deploy/proxies_test.ts runs the file",
  }],
  [/^cp deploy\/proxies\/Caddyfile \/etc\//, { how: "by", test: "tests/deploy/proxies_test.ts" }],
  [/^deno task -q laneway check http:/, { how: "by", test: "tests/programs/check_test.ts" }],
  [/^(npx -y deno@\S+|deno) task -q laneway init\b/, { how: "by", test: "tests/programs/init/launched_test.ts" }],
  [/^deno task -q laneway permissions$/, { how: "ends", prints: /--allow-net=/ }],
  [/^deno task -q laneway catalog oss models\.json$/, { how: "ends", prints: /written to .*models\.json/ }],
  [/^(npx|npm install) \.\/laneway-[\d.]+\.tgz$|^npx laneway connect claude-code$/, {
    how: "by",
    test: "tests/clients/npm_package_test.ts",
  }],
  [/^(npm install --ignore-scripts|node src\/node\.ts)$/, { how: "by", test: "tests/clients/node_test.ts" }],
  [/^trap '' HUP; eval "exec deno run \$\(deno task -q laneway permissions\) src\/main\.ts"$/, { how: "serves" }],
  [/^eval "exec node \$\(node src\/node\.ts permissions --node\) src\/node\.ts"$/, {
    how: "by",
    test: "tests/clients/node_sandbox_test.ts",
  }],
  [/^deno serve -RWNE src\/app\.ts$/, { how: "serves", options: "--port 0" }],
  [/^deno task dev:hub$/, { how: "serves", options: "--port 0" }],
  [/^deno test --config tests\/deno\.json --allow-all tests\/[\w/]+_test\.ts$/, { how: "ends", prints: /\bok\b/ }],

  [/^deno task simulate --minutes=60$/, { how: "not", because: "it takes an hour; .ci/run searches 20,000 worlds" }],
  [/^deno task test:(reliability|engines)$/, {
    how: "not",
    because: "it takes half an hour, or engines that run here",
  }],
  [/^deno task path$/, { how: "ends", prints: /^\| whole chat +\| +\d/m }],
  [/^deno task scale --requests=\d+ --streams=\d+/, { how: "ends", prints: /^Cores +\d/m }],
  [/^deno task bench(:\w+)?( --only=\w+)?$/, {
    how: "not",
    because: "it measures for minutes, on a machine that does nothing else",
  }],
  [/^(install|cp|systemctl) .*laneway.*$/, {
    how: "not",
    because: "it changes the system; tests/deploy tests the unit",
  }],
  [/^podman (build|run) .*\blaneway\b.*$/, { how: "by", test: "tests/deploy/installed/container_test.ts" }],
  [/^(cp deploy\/compose\/example\.env deploy\/\.env|docker compose -f deploy\/compose\.yaml up --build --wait)$/, {
    how: "not",
    because: "it downloads images; tests/deploy/compose_test.ts checks the file",
  }],
  [/^(kubectl create secret generic|helm install) laneway /, {
    how: "not",
    because: "it needs a cluster; tests/deploy/installed/cluster_test.ts renders the chart",
  }],
  [/^(npx|npm install) \.\/laneway-[\d.]+\.tgz$/, { how: "by", test: "tests/clients/npm_package_test.ts" }],
  [/^npx laneway connect \S+$/, { how: "by", test: "tests/clients/npm_package_test.ts" }],
  [/^deno task -q laneway version --check$/, { how: "by", test: "tests/programs/version_test.ts" }],
  [/^npx --no laneway verify release$/, { how: "by", test: "tests/programs/verify_test.ts" }],
  [/^sha256sum --check --ignore-missing SHA256SUMS$/, { how: "by", test: "tests/cli/release_papers_test.ts" }],
  [/^(gh attestation verify|cosign verify-blob) /, { how: "not", because: "no release is signed yet" }],
  [/^podman load -i laneway-[\d.]+-image\.tar$/, { how: "by", test: "tests/clients/release_test.ts" }],
  [/^apt install \.\/laneway_[\d.]+_amd64\.deb$/, { how: "by", test: "tests/clients/release_test.ts" }],
  [/^deno task release$/, { how: "not", because: "it downloads Deno's runtime for six machines" }],
  [/^deno task compile$/, { how: "not", because: "it downloads Deno's runtime" }],

  [/^export (HF_TOKEN|ANTHROPIC_BASE_URL|ANTHROPIC_AUTH_TOKEN)=\S+$/, {
    how: "not",
    because: "it sets a variable for the next command",
  }],
  [/^claude --model \S+$/, { how: "by", test: "tests/clients/claude_code_test.ts" }],
];

export function treatmentOf(command: string): Treatment | undefined {
  return TREATMENTS.find(([pattern]) => pattern.test(command))?.[1];
}
