package io.github.sotto;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** An object that owns a handle. It is closed explicitly, or after the garbage collector has found it unreachable. */
abstract class Owned implements AutoCloseable {
    private static final ReferenceQueue<Owned> DROPPED = new ReferenceQueue<>();
    private static final Set<Watch> WATCHES = ConcurrentHashMap.newKeySet();

    final Resource resource;
    private final Watch watch;

    Owned(Resource resource) {
        this.resource = resource;
        watch = new Watch(this, resource);
        WATCHES.add(watch);
        reap();
    }

    /** Frees the object when it has no users left. Later calls throw {@link ClosedException}. */
    @Override
    public void close() {
        WATCHES.remove(watch);
        resource.close(true);
    }

    public boolean isClosed() {
        return resource.isClosed();
    }

    private static final class Watch extends PhantomReference<Owned> {
        private final Resource resource;

        Watch(Owned owner, Resource resource) {
            super(owner, DROPPED);
            this.resource = resource;
        }
    }

    private static void reap() {
        for (Object dropped = DROPPED.poll(); dropped != null; dropped = DROPPED.poll()) {
            free((Watch) dropped);
        }
    }

    private static void free(Watch dropped) {
        WATCHES.remove(dropped);
        dropped.resource.close(false);
    }

    static {
        Thread reaper = new Thread(Owned::reapForever, "sotto-reaper");
        reaper.setDaemon(true);
        reaper.start();
    }

    private static void reapForever() {
        while (true) {
            try {
                free((Watch) DROPPED.remove());
            } catch (InterruptedException ignored) {
                return; // objects dropped later are freed when the next object is created
            }
        }
    }
}
