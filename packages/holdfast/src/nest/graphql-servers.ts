import type { ModulesContainer } from '@nestjs/core';
import type { Module, Wrapper } from './entry-classes.js';
import type { Handler } from './handler.js';

/** Nest's own token for the options of a `GraphQLModule`; its package is one that an application need not have. */
const OPTIONS = 'GqlModuleOptions';
/** Methods of this name tell the type of an object. */
const TYPE_RESOLVER = '__resolveType';

interface GraphqlOptions {
  readonly include?: readonly Function[];
  readonly fieldResolverEnhancers?: readonly string[];
}

/** One `GraphQLModule`, and what it finds. */
interface GraphqlServer {
  readonly options: GraphqlOptions;
  /** Where it looks for resolvers and plugins. */
  readonly modules: readonly Module[];
  /** Whether it looks for plugins at all. */
  readonly takesPlugins: boolean;
}

/** What the GraphQL servers of an application find of it. */
export class GraphqlServers {
  private readonly servers: readonly GraphqlServer[];

  constructor(modules: ModulesContainer) {
    this.servers = [...modules.values()].flatMap((module) => {
      const options = module.providers.get(OPTIONS)?.instance as GraphqlOptions | undefined | null;
      return options === undefined || options === null ? [] : [serverIn(module, options, modules)];
    });
  }

  /** Whether Nest runs a field's or a reference's handler without interceptors, whoever serves it. */
  skipInterceptors({ cls, name, kinds }: Handler): boolean {
    if (kinds.graphql !== 'field' || kinds.http !== undefined || kinds.rpc || kinds.websocket) return false;

    const serving = this.servers.filter((server) => finds(server, ({ metatype }) => metatype === cls));
    return serving.length > 0 && (name === TYPE_RESOLVER || serving.every(({ options }) => !runsOnFields(options)));
  }

  /** Those that look for plugins, and do not find this one: the names of the modules in which they look. */
  blindFor(plugin: Function): string[][] {
    return this.servers
      .filter((server) => server.takesPlugins && !finds(server, ({ metatype }) => metatype === plugin))
      .map(({ options: { include = [] } }) => include.map(({ name }) => name));
  }
}

function serverIn(module: Module, options: GraphqlOptions, modules: ModulesContainer): GraphqlServer {
  const takesPlugins = [...module.providers.values()].some(hasPluginsExplorer);

  return { options, modules: lookedAt(options, [...modules.values()]), takesPlugins };
}

/** As Nest decides it: of the modules in `include` also what they import, and all modules without one. */
function lookedAt({ include = [] }: GraphqlOptions, modules: readonly Module[]): readonly Module[] {
  if (include.length === 0) return modules;

  const found = new Set(modules.filter(({ metatype }) => include.includes(metatype)));
  // A set is walked on to what is added meanwhile.
  for (const module of found) for (const imported of module.imports) found.add(imported);

  return [...found];
}

function finds({ modules }: GraphqlServer, is: (wrapper: Wrapper) => boolean): boolean {
  return modules.some(({ providers }) => [...providers.values()].some(is));
}

function runsOnFields({ fieldResolverEnhancers = [] }: GraphqlOptions): boolean {
  return fieldResolverEnhancers.includes('interceptors');
}

/** The drivers of Apollo have one. */
function hasPluginsExplorer({ instance }: Wrapper): boolean {
  return typeof instance === 'object' && instance !== null && 'pluginsExplorerService' in instance;
}
