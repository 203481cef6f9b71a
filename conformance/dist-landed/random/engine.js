/**
 * Loads the engine inside of the world. It keeps what `Date` and `performance` are when it is loaded, and goes by the
 * monotonic clock as long as they are; loaded outside it would take the world's for fake timers, and go by `Date`.
 */
export async function loadEngine(world) {
    world.install(false);
    try {
        return await import('holdfast');
    }
    finally {
        world.uninstall();
    }
}
//# sourceMappingURL=engine.js.map