// A dumbbell in htsim. It reads links and flows from standard input, runs htsim's TCP over them, and prints one
// JSON object. README.md beside it says what htsim's TCP is.
//
//   run DURATION_S MEASURE_FROM_S SEGMENT_BYTES WINDOW_SEGMENTS SSTHRESH_SEGMENTS
//   link RATE_BPS DELAY_S QUEUE_BYTES        links are numbered from 0; a rate of 0 is a delay without a transmitter
//   flow START_S FORWARD REVERSE             comma lists of links
//
// Nothing of htsim is changed. Nothing is logged while it runs.

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

// How often htsim looks for expired timers: the period in its own examples.
static const int SCAN_MS = 10;

// htsim's TCP, whose timeouts are counted.
class CountedTcp : public TcpSrc {
public:
    explicit CountedTcp(EventList& events) : TcpSrc(nullptr, nullptr, events) {}

    void rtx_timer_hook(simtime_picosec now, simtime_picosec period) override {
        const bool pending = _rtx_timeout_pending;
        TcpSrc::rtx_timer_hook(now, period);
        timeouts += !pending && _rtx_timeout_pending;
    }

    uint64_t timeouts = 0;
};

// A transmitter with its queue, and the delay behind it. Either may be missing.
struct Link {
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Pipe> pipe;

    void append_to(Route& route) const {
        if (queue) route.push_back(queue.get());
        if (pipe) route.push_back(pipe.get());
    }
};

struct Flow {
    std::unique_ptr<CountedTcp> source;
    std::unique_ptr<TcpSink> sink;
    Route forward, reverse;
    double start_s = 0;
};

struct Counts {
    uint64_t delivered = 0; // bytes in order at the receivers, with headers
    uint64_t drops = 0;     // packets, in all queues
    uint64_t timeouts = 0;
};

static Counts count(const std::vector<Link>& links, const std::vector<Flow>& flows) {
    Counts counts;
    for (const Flow& flow : flows) {
        counts.delivered += flow.sink->_cumulative_ack;
        counts.timeouts += flow.source->timeouts;
    }
    for (const Link& link : links) counts.drops += link.queue ? link.queue->num_drops() : 0;
    return counts;
}

// The counts at the beginning of the measuring window.
class Snapshot : public EventSource {
public:
    Snapshot(EventList& events, const std::vector<Link>& links, const std::vector<Flow>& flows, double at_s)
        : EventSource(events, "snapshot"), links(links), flows(flows) {
        if (at_s > 0) events.sourceIsPending(*this, timeFromSec(at_s));
    }

    void doNextEvent() override { before = count(links, flows); }

    Counts before;

private:
    const std::vector<Link>& links;
    const std::vector<Flow>& flows;
};

static double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

// The peak memory of this process, kB.
static long peak_rss_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        long kb = 0;
        if (word == "VmHWM:" && status >> kb) return kb;
    }
    return 0;
}

[[noreturn]] static void refuse(const std::string& what) {
    std::cerr << what << "\n";
    exit(2);
}

static void follow(const std::string& numbers, const std::vector<Link>& links, Route& route) {
    std::istringstream list(numbers);
    for (std::string number; std::getline(list, number, ',');) links.at(std::stoul(number)).append_to(route);
}

int main() {
    EventList& events = EventList::getTheEventList();
    std::vector<Link> links;
    std::vector<Flow> flows;
    double duration_s = 0, measure_from_s = 0, window = 0, threshold = 0;
    int segment = 0;

    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "run") {
            if (!(words >> duration_s >> measure_from_s >> segment >> window >> threshold))
                refuse("not a run: " + line);
            Packet::set_packet_size(segment);
            events.setEndtime(timeFromSec(duration_s));
        } else if (kind == "link") {
            linkspeed_bps rate = 0;
            double delay_s = 0;
            mem_b queue = 0;
            if (!(words >> rate >> delay_s >> queue)) refuse("not a link: " + line);
            Link link;
            if (rate > 0) link.queue.reset(new Queue(rate, queue, events, nullptr));
            if (delay_s > 0) link.pipe.reset(new Pipe(timeFromSec(delay_s), events));
            links.push_back(std::move(link));
        } else if (kind == "flow") {
            flows.emplace_back();
            Flow& flow = flows.back();
            std::string forward, reverse;
            if (!(words >> flow.start_s >> forward >> reverse)) refuse("not a flow: " + line);
            flow.source.reset(new CountedTcp(events));
            flow.sink.reset(new TcpSink());
            follow(forward, links, flow.forward);
            follow(reverse, links, flow.reverse);
            flow.source->set_cwnd(window * segment);
            flow.source->set_ssthresh(threshold * segment);
        } else {
            refuse("not a run, a link or a flow: " + line);
        }
    }
    // A source keeps the addresses of its routes, so no flow may move from here on.
    TcpRtxTimerScanner scanner(timeFromMs(SCAN_MS), events);
    for (Flow& flow : flows) {
        flow.forward.push_back(flow.sink.get());
        flow.reverse.push_back(flow.source.get());
        scanner.registerTcp(*flow.source);
        flow.source->connect(flow.forward, flow.reverse, *flow.sink, timeFromSec(flow.start_s));
    }
    Snapshot snapshot(events, links, flows, measure_from_s);

    std::cout.setstate(std::ios::failbit); // htsim tells of each timeout there
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (events.doNextEvent()) {
    }
    const double wall_s = seconds(CLOCK_MONOTONIC) - wall, cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    std::cout.clear();

    const Counts all = count(links, flows), &before = snapshot.before;
    std::cout << "{\"delivered_bytes\":" << all.delivered
              << ",\"window_bytes\":" << all.delivered - before.delivered
              << ",\"window_drops\":" << all.drops - before.drops
              << ",\"window_timeouts\":" << all.timeouts - before.timeouts << ",\"wall_s\":" << wall_s
              << ",\"cpu_s\":" << cpu_s << ",\"peak_rss_kb\":" << peak_rss_kb() << "}\n";
}
