// SPDX-FileCopyrightText: 2026 The latchd authors
// SPDX-License-Identifier: Apache-2.0

// The authority protocol for spin (docs/model.md): nodes 0 and 1 and a late one, 2, keep one lock
// on Redis or on MySQL, which is the arbiter too. No clocks: "this long" is a guard that what must
// have ended has ended. A step here is one transaction, one script or one step of a node; between
// any two of them anything else may happen. One strict lock, or an available one with -DAVAILABLE.
// Each -D of the omissions (NO_…, …) leaves one rule out; tests/model proves that each is missed.

#define N 3
#ifndef EPOCHS
#define EPOCHS 3    // the model ends with this epoch
#endif
#ifndef GRANTS
#define GRANTS 2    // LOCKs that may be sent
#endif
#ifndef MOVES
#define MOVES 2     // epochs begun by vote or operator; a lost marker or process needs no vote
#endif
#ifndef FAULTS
#define FAULTS 1    // of Redis
#endif
#ifndef LOSSES
#define LOSSES 1    // of node 0: its end, or its network
#endif
#ifndef JOINS
#define JOINS 1     // of node 2
#endif
#define REDIS 0
#define MYSQL 1
#define NOBODY 7    // the nonce of a closed marker
#ifdef NO_NONCE
#define FRESH(n) 1
#else
#define FRESH(n) ((n) + 1)
#endif
#ifdef AVAILABLE
#define STRICT false
#else
#define STRICT true
#endif
#define BIT(n) (1 << (n))
#define ALL(p) (p(0) && p(1) && p(2))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

// The arbiter: the record, one row per node, what was handed over. What an epoch was opened with
// never changes, so whoever knows its number knows tier, nonce and process.
byte epoch = 1, served = 1;             // the newest one; the last that was opened
bit is_open = 1;
byte tier_of[EPOCHS + 1], nonce_of[EPOCHS + 1], process_of[EPOCHS + 1];
byte rows = BIT(0) + BIT(1);            // set of nodes
byte missing, owed;                     // not in the claims fetched; and not settled when it ended
byte acked[N], claim[N];                // claim: the fence handed over and not yet in a store

// The stores. A lock of a former marker (Redis) or epoch (MySQL) is void, here: gone.
byte marker_epoch = 1, marker_nonce = 1, process, row_epoch;
byte lock[2], counter[2];               // lock: the fence of the grant that holds it

// The nodes: the epoch that each knows and whether it serves in it, its record, its LOCK under way
// (the epoch it was sent in, the fence it got, whether the answer counts for nothing), its opening.
bit alive[N], cut[N], leased[N], serving[N], orphan[N];
byte seen[N], record[N], asked[N], reply[N];
byte opening[N], read_epoch[N], read_nonce[N], read_process[N], read_claim[N], read_acked[N];
bit read_all[N];                        // the former tier was closed and read

// The truth that nobody sees: which fence the client of each node relies on; which of them was
// handed over for an epoch that has not opened; the highest fence told; strict locks may be taken.
byte held[N], given[N], top;
bit fresh[EPOCHS + 1];                  // the strict wait of that epoch is over
byte grants = GRANTS, moves = MOVES, losses = LOSSES, faults = FAULTS, joins = JOINS;

#define MARKED(e) (marker_epoch == (e) && marker_nonce == nonce_of[e] && process == process_of[e])
// Does the store serve this epoch? MySQL reads the placement's row in the same statement.
#define SERVES(e) (tier_of[e] == MYSQL -> (is_open && epoch == (e)) : MARKED(e))
#define ACKED(n) (acked[n] == epoch -> BIT(n) : 0)
#define CLAIMS MAX(claim[0], MAX(claim[1], claim[2]))
#define UP(n) (alive[n] && !cut[n])
// Rule 5: it acknowledged; or its view lease ended and all that it may have granted was waited out.
#define SETTLED(n) (!(missing & BIT(n)) || acked[n] == epoch || \
                    (!leased[n] && held[n] == 0 && (asked[n] == 0 || orphan[n])))
#ifdef NO_ACK_WAIT
#define WAITED true
#else
#define WAITED ALL(SETTLED)
#endif
// Nobody acknowledged since this opener fetched the claims.
#ifdef OPEN_BLIND
#define COMPLETE(n) true
#else
#define COMPLETE(n) (((ACKED(0) | ACKED(1) | ACKED(2)) & ~read_acked[n]) == 0)
#endif
// Do the store's scripts carry out what was sent in the epoch e?
#if defined(NO_EPOCH_CHECK)
#define ADMITS(e) (tier_of[e] == REDIS || SERVES(e))
#elif defined(NO_IDENTITY)
#define ADMITS(e) (tier_of[e] == REDIS -> marker_epoch == (e) && marker_nonce == nonce_of[e] \
                                         : SERVES(e))
#else
#define ADMITS(e) SERVES(e)
#endif
// Whose grants are in a former tier that was closed and read, as long as nobody was owed a wait.
#ifdef FORGET_OWED
#define KNOWN rows
#else
#define KNOWN (rows & ~owed)
#endif
// A strict lock that comes late keeps its fence: a node that has not seen the new epoch may still
// grant the lock in the old one, with a fence below those of the new one.
#ifdef NEW_FENCE
#define STRICT_KEEPS false
#else
#define STRICT_KEEPS STRICT
#endif
#define NOT_HELD(n) (held[n] != lock[s] && reply[n] != lock[s])

inline forget_opening(n) {
    opening[n] = 0; read_epoch[n] = 0; read_nonce[n] = 0; read_process[n] = 0;
    read_claim[n] = 0; read_acked[n] = 0; read_all[n] = 0
}

inline forget_request(n) {              // the answer counts for nothing; a copy may still travel
    if
    :: asked[n] != 0 && reply[n] == 0 -> orphan[n] = 1
    :: else -> asked[n] = 0; reply[n] = 0; orphan[n] = 0
    fi
}

// The client of n is told of the grant f, made in the epoch e.
inline tell(n, f, e) {
    i = 0;
    do                                  // exclusion
    :: i < N -> assert(!STRICT || i == n || held[i] == 0); i++
    :: else -> break
    od;
    assert(!STRICT || f > top);         // fences rise
    // nothing in an older epoch, but for what the store that serves now has, too
    assert(!(STRICT && epoch > (e) && fresh[epoch] && SERVES(epoch) && lock[tier_of[epoch]] != f));
    top = MAX(top, f); held[n] = f; record[n] = f; i = 0
}

inline begin_epoch(t) {                 // rule 3: compare-and-set; its guard is seen[n] == epoch
    if                                  // rule 5: the remainder of the strict wait goes on
    :: is_open -> owed = (fresh[epoch] -> 0 : missing)
    :: else
    fi;
    tier_of[epoch + 1] = t; epoch++; is_open = 0;
#ifdef DROP_UNOPENED_CLAIMS
    claim[0] = 0; claim[1] = 0; claim[2] = 0
#endif
}

// Rule 4: claims of all epochs since the last opening; and the former tier, if its very process
// can still be read: closed first, and then nobody is missing.
inline fetch(n) {
    read_claim[n] = CLAIMS;
    read_acked[n] = ACKED(0) | ACKED(1) | ACKED(2);
    if
    :: tier_of[served] == REDIS && MARKED(served) ->
        marker_epoch = epoch; marker_nonce = NOBODY;
        read_claim[n] = MAX(read_claim[n], lock[REDIS]); read_all[n] = 1
    :: tier_of[served] == MYSQL && row_epoch >= served ->
        read_claim[n] = MAX(read_claim[n], lock[MYSQL]); read_all[n] = 1
    :: true                             // it can't be read
    fi;
    read_epoch[n] = marker_epoch; read_nonce[n] = marker_nonce; read_process[n] = process;
    opening[n] = 1
}

inline initialise(n) {                  // rule 6: compare-and-set of the marker that was read
    if
    :: tier_of[seen[n]] == MYSQL -> opening[n] = 2      // its marker is the placement's row
    :: tier_of[seen[n]] == REDIS && marker_epoch == read_epoch[n] &&
       marker_nonce == read_nonce[n] && process == read_process[n] ->
        marker_epoch = seen[n]; marker_nonce = FRESH(n);
        lock[REDIS] = 0; counter[REDIS] = 0; opening[n] = 2
    :: else -> forget_opening(n)
    fi
}

inline load(n) {
    if
    :: tier_of[seen[n]] == REDIS && marker_epoch == seen[n] && marker_nonce == FRESH(n) &&
       process == read_process[n] -> lock[REDIS] = read_claim[n]; opening[n] = 3
    :: tier_of[seen[n]] == MYSQL && epoch == seen[n] && !is_open ->
        if                              // of several loaders the union counts
        :: row_epoch == epoch -> lock[MYSQL] = MAX(lock[MYSQL], read_claim[n])
        :: else -> lock[MYSQL] = read_claim[n]; counter[MYSQL] = 0; row_epoch = epoch
        fi;
        opening[n] = 3
    :: else -> forget_opening(n)
    fi
}

inline open_epoch(n) {                  // whoever acknowledged since the fetch is not in the store
    if
    :: epoch == seen[n] && !is_open && COMPLETE(n) ->
        is_open = 1; served = epoch; missing = rows & ~(read_acked[n] | (read_all[n] -> KNOWN : 0));
        nonce_of[epoch] = FRESH(n); process_of[epoch] = read_process[n];
        i = 0;
        do                              // what was handed over is there (if this store serves)
        :: i < N -> assert(STRICT || given[i] == 0 || !SERVES(epoch) ||
                           lock[tier_of[epoch]] >= given[i]);
                    given[i] = 0; claim[i] = 0; i++
        :: else -> break
        od;
        i = 0
    :: else
    fi;
    forget_opening(n)
}

// Late, the epoch is open: the record is asserted by token, and only then acknowledged.
inline assert_late(n) {
    if
    :: record[n] == 0 || lock[tier_of[epoch]] == record[n]
    :: record[n] != 0 && lock[tier_of[epoch]] == 0 ->
        if
        :: STRICT_KEEPS -> lock[tier_of[epoch]] = record[n]
        :: else -> counter[tier_of[epoch]]++;
                   lock[tier_of[epoch]] = epoch * 8 + counter[tier_of[epoch]];
                   held[n] = 0; tell(n, lock[tier_of[epoch]], epoch)
        fi
    :: else -> assert(!STRICT || held[n] == 0 || lock[tier_of[epoch]] < record[n]);
               held[n] = 0; record[n] = 0     // lost
    fi;
    acked[n] = epoch; serving[n] = 1
}

proctype node(byte n) {
    byte i;
end: do
    // Serving (rules 1, 2): LOCK is sent, carried out, told.
    :: d_step { alive[n] && serving[n] && asked[n] == 0 && record[n] == 0 && grants > 0 &&
                (leased[n] && fresh[seen[n]] || !STRICT) ->
                grants--; asked[n] = seen[n] }
    :: d_step { asked[n] != 0 && reply[n] == 0 ->
        if
        :: lock[tier_of[asked[n]]] == 0 && ADMITS(asked[n]) ->
                counter[tier_of[asked[n]]]++;
                lock[tier_of[asked[n]]] = asked[n] * 8 + counter[tier_of[asked[n]]];
                reply[n] = lock[tier_of[asked[n]]]
        :: else -> asked[n] = 0; orphan[n] = 0          // busy or refused
        fi;
        if
        :: orphan[n] -> asked[n] = 0; reply[n] = 0; orphan[n] = 0
        :: else
        fi }
    :: d_step { reply[n] != 0 -> tell(n, reply[n], asked[n]); asked[n] = 0; reply[n] = 0 }
    :: d_step { asked[n] != 0 && !orphan[n] -> forget_request(n) }     // its lease is over
    :: d_step { held[n] != 0 -> held[n] = 0; given[n] = 0; record[n] = 0 }     // the holder gave up

    // The view (rules 1, 4): read with each heartbeat, which renews the lease of it.
    :: d_step { UP(n) && seen[n] < epoch ->
                seen[n] = epoch; leased[n] = 1; serving[n] = 0;
                forget_opening(n); forget_request(n) }
    :: d_step { n == 0 && UP(n) && seen[n] == epoch && !leased[n] -> leased[n] = 1 }
    :: d_step { n == 0 && cut[n] && leased[n] -> leased[n] = 0 }
    :: d_step { UP(n) && seen[n] == epoch && is_open && !serving[n] && !(missing & BIT(n)) ->
                acked[n] = epoch; serving[n] = 1 }
#ifdef ACK_BEFORE_ASSERT
    :: d_step { UP(n) && seen[n] == epoch && is_open && acked[n] < epoch -> acked[n] = epoch }
#endif
    :: d_step { UP(n) && seen[n] == epoch && is_open && !serving[n] && (missing & BIT(n)) &&
                SERVES(epoch) -> assert_late(n) }

    // A new epoch (rules 3, 4, 6): by vote, or since marker or process are not the recorded ones;
    // a settling one is redirected in the same way.
    :: d_step { UP(n) && seen[n] == epoch && epoch < EPOCHS && moves > 0 ->
                moves--; begin_epoch(1 - tier_of[epoch]) }
#ifndef NO_EVIDENCE
    :: d_step { UP(n) && seen[n] == epoch && epoch < EPOCHS && is_open && !SERVES(epoch) ->
                begin_epoch(REDIS) }
    :: d_step { UP(n) && seen[n] == epoch && epoch < EPOCHS && is_open && !SERVES(epoch) ->
                begin_epoch(MYSQL) }
#endif
    :: d_step { UP(n) && seen[n] == epoch && !is_open && acked[n] < epoch ->
#ifndef NO_HANDOVER
                claim[n] = record[n];
#endif
                given[n] = (acked[n] >= served -> record[n] : 0); acked[n] = epoch }
    :: atomic { UP(n) && seen[n] == epoch && !is_open && acked[n] == epoch && opening[n] == 0 ->
                fetch(n) }
    :: d_step { alive[n] && opening[n] == 1 -> initialise(n) }
    :: d_step { alive[n] && opening[n] == 2 -> load(n) }
    :: d_step { UP(n) && opening[n] == 3 -> open_epoch(n) }

    // One node is lost, by its end or its network.
    :: d_step { n == 0 && UP(n) && losses > 0 ->
                losses--; alive[n] = 0; leased[n] = 0; serving[n] = 0; record[n] = 0;
                forget_opening(n); forget_request(n) }
    :: d_step { n == 0 && UP(n) && losses > 0 -> losses--; cut[n] = 1 }
    :: d_step { n == 0 && cut[n] -> cut[n] = 0 }
    od
}

// Leases end in the stores, never before what the holder was told; the strict wait ends; Redis
// loses what it had; a node joins, perhaps the successor of the one that died
// (which has a row of its own, and says nothing for it).
proctype others() {
    byte s;
end: do
    :: d_step { lock[REDIS] != 0 -> s = REDIS;
                if :: ALL(NOT_HELD) -> lock[s] = 0 :: else fi; s = 0 }
    :: d_step { lock[MYSQL] != 0 -> s = MYSQL;
                if :: ALL(NOT_HELD) -> lock[s] = 0 :: else fi; s = 0 }
    :: d_step { is_open && !fresh[epoch] && WAITED -> fresh[epoch] = 1 }
    :: d_step { faults > 0 -> faults--; lock[REDIS] = 0; marker_epoch = 0; marker_nonce = 0 }
    :: d_step { faults > 0 -> faults--; lock[REDIS] = 0; process = 1 }     // a replica that lags
    :: d_step { faults > 0 -> faults--; process = 1 }
    :: d_step { joins > 0 ->
                joins--; alive[2] = 1; leased[2] = 1; rows = rows | BIT(2);
                seen[2] = epoch; acked[2] = epoch; serving[2] = is_open }
    :: timeout -> break
    od;
    // Nothing more happens: then the lock can be had through every node that lives, unless the
    // model ended before another epoch could begin.
    assert(epoch == EPOCHS && is_open && !SERVES(epoch) ||
           is_open && fresh[epoch] && SERVES(epoch) &&
           (!alive[0] || serving[0]) && (!alive[1] || serving[1]) && (!alive[2] || serving[2]))
}

init {
    atomic {
        nonce_of[1] = 1; fresh[1] = 1;
        alive[0] = 1; leased[0] = 1; serving[0] = 1; seen[0] = 1; acked[0] = 1;
        alive[1] = 1; leased[1] = 1; serving[1] = 1; seen[1] = 1; acked[1] = 1;
        run node(0); run node(1); run node(2); run others()
    }
}
