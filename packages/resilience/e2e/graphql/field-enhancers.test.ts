import { Module, Scope, SetMetadata } from '@nestjs/common';
import { Field, ObjectType, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { Retry, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Backend } from '../fixtures/backend.js';
import { onEachServer, type GraphqlApplication } from '../fixtures/graphql.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((call, nth) => (nth === 1 ? call.fail(new Error('down')) : call.answer('fine')));
});

@ObjectType()
class Parcel {
  @Field(() => String)
  id!: string;
}

@Resolver(() => Parcel)
class ParcelResolver {
  @Query(() => Parcel)
  parcel() {
    return { id: '7' };
  }

  @ResolveField(() => String, { nullable: true })
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  status() {
    return backend.call();
  }

  @ResolveField(() => String)
  undecorated() {
    return 'fine';
  }
}

/** As `@ResolveField()` of a schema that is written first leaves it; one that is made of classes has no place for it. */
@SetMetadata('__entryProvider__', true)
@SetMetadata('graphql:resolver_type', 'Parcel')
class TypeResolver {
  @SetMetadata('graphql:resolve_property', true)
  @Timeout('1s')
  __resolveType() {
    return 'Parcel';
  }
}

@Module({ providers: [ParcelResolver] })
class ParcelModule {}

@Module({ providers: [{ provide: 'parcels', useClass: ParcelResolver, scope: Scope.REQUEST }] })
class TokenModule {}

@Module({ providers: [{ provide: 'parcels', useFactory: () => new ParcelResolver() }] })
class FactoryModule {}

@Module({})
class OtherModule {}

const skipped = (name: string) => `Resilience decorators on ${name}() have no effect: `;
const WARNING =
  `${skipped('ParcelResolver.status')}Nest runs interceptors on fields and references only when it is told to. Set ` +
  "fieldResolverEnhancers: ['interceptors'] in the options of GraphQLModule, or use a policy object inside of the method.";
const warningsOf = ({ log }: GraphqlApplication) => log.warnings.filter((line) => line.includes('have no effect'));

onEachServer('Decorators on a field of GraphQL', (start) => {
  it.each([[undefined], [[]], [['guards', 'filters']]])(
    'do nothing while Nest runs no interceptors there, and boot says so: %j',
    async (fieldResolverEnhancers) => {
      const app = await start({ providers: [ParcelResolver], graphql: { fieldResolverEnhancers } });
      const { body } = await app.query('{ parcel { status } }');

      expect(body.data).toEqual({ parcel: { status: null } });
      expect(backend.calls).toHaveLength(1);
      expect(warningsOf(app)).toEqual([WARNING]);
    },
  );

  it('apply, and are not warned of, where it does', async () => {
    const app = await start({ providers: [ParcelResolver] });
    const { body } = await app.query('{ parcel { status } }');

    expect(body).toEqual({ data: { parcel: { status: 'fine' } } });
    expect(warningsOf(app)).toEqual([]);
  });

  it('of a class that is provided under a token, and per request, are warned of as well', async () => {
    const app = await start({ imports: [TokenModule], graphql: { fieldResolverEnhancers: [] } });

    expect(warningsOf(app)).toEqual([WARNING]);
  });

  it('of what a factory makes are not: nobody knows who serves it', async () => {
    const app = await start({ imports: [FactoryModule], graphql: { fieldResolverEnhancers: [] } });

    expect(warningsOf(app)).toEqual([]);
  });

  it('do nothing on what tells a type, whatever Nest is told', async () => {
    const app = await start({ providers: [ParcelResolver, TypeResolver] });

    expect(warningsOf(app)).toEqual([
      `${skipped('TypeResolver.__resolveType')}Nest runs no interceptors on what tells a type. Use a policy object ` +
        'inside of it.',
    ]);
  });

  it('of a module that no GraphQL server looks at are no business of one', async () => {
    const app = await start({
      imports: [ParcelModule, OtherModule],
      providers: [],
      graphql: {
        include: [OtherModule],
        fieldResolverEnhancers: [],
        typeDefs: 'type Query { ok: String }',
        autoSchemaFile: undefined,
      },
    });

    expect(warningsOf(app)).toEqual([]);
  });
});
