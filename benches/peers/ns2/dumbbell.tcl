# Dumbbell scenario for ns-2.35:  ns dumbbell.tcl key=value ...
#
#   sender i -- access -- r0 == bottleneck == r1 -- access -- receiver i
#
# With hops=N there are N equal bottlenecks in a row, r0 to rN (a parking
# lot), and each flow enters and leaves at routers of its own.
#
# Runs long-lived TCP flows from left to right and prints one JSON object on
# standard output.  README.md lists the parameters and the ns-2 behaviours
# that matter when the output is compared with another simulator.

# ---------------------------------------------------------------- parameters

set setup_start [clock microseconds]
set defaults {
    agent               Sack1
    kinds               ""
    window_option       1
    flows               1
    rate_bps            1e9
    access_bps          1e10
    rtt_s               0.04
    bottleneck_delay_s  0.01
    hops                1
    enters              ""
    leaves              ""
    rtts                ""
    queue               DropTail
    queue_packets       1000
    thresh              5
    maxthresh           15
    q_weight            0.002
    linterm             10
    gentle              1
    adaptive            0
    setbit              0
    payload             1000
    header              40
    ack_bytes           40
    fixed_ack           1
    loss                0
    loss_at             before
    loss_list           ""
    seed                1
    drop                ""
    cbr                 0
    duration_s          20
    measure_from_s      0
    start_spread_s      0
    starts              ""
    iw                  2
    ssthresh            0
    maxwindow           1000000
    maxburst            0
    minrto_s            0.2
    tick_s              0.001
    timestamps          1
    singledup           1
    partial_ack         0
    limtransmit_fix     0
    delack              0
    delack_s            0.1
    sack_blocks         3
    ecn                 0
    syn                 0
    scheduler           Splay
    express             1
    monitor             1
    stock               0
    trace               ""
    reports             ""
    result              ""
}
array set P $defaults

proc fail {text} {
    puts stderr "dumbbell.tcl: $text"
    exit 1
}

foreach word $argv {
    if {![regexp {^([a-z_]+)=(.*)$} $word -> key value]} {
        fail "expected key=value, got '$word'"
    }
    if {![info exists P($key)]} { fail "unknown parameter '$key'" }
    set P($key) $value
}

# stock=1 is ns-2 as it comes: what a script gets that sets nothing for speed.
if {$P(stock)} {
    set P(scheduler) Calendar
    set P(express) 0
    set P(fixed_ack) 0
}

set hops [expr {int($P(hops))}]
# Routers inside a chain must tell directions apart: ordinary static routing,
# and nothing is taken out of the packet path.
if {$hops > 1} { set P(express) 0 }

set wire [expr {$P(payload) + $P(header)}]
set flows [expr {int($P(flows))}]
set rtt_list [split $P(rtts) ,]
if {[llength $rtt_list] != 0 && [llength $rtt_list] != $flows} {
    fail "rtts must name one RTT per flow"
}
set start_list [split $P(starts) ,]
if {[llength $start_list] != 0 && [llength $start_list] != $flows} {
    fail "starts must name one start time per flow"
}
set kind_list [split $P(kinds) ,]
if {[llength $kind_list] != 0 && [llength $kind_list] != $flows} {
    fail "kinds must name one kind per flow"
}
foreach kind $kind_list {
    if {[lsearch {tcp tfrc} $kind] < 0} { fail "a kind is tcp or tfrc" }
}
set has_tfrc [expr {[lsearch $kind_list tfrc] >= 0}]
proc is_tfrc {i} {
    global kind_list
    return [expr {[lindex $kind_list $i] eq "tfrc"}]
}
set enter_list [split $P(enters) ,]
set leave_list [split $P(leaves) ,]
foreach list [list $enter_list $leave_list] {
    if {[llength $list] != 0 && [llength $list] != $flows} {
        fail "enters and leaves must name one router per flow"
    }
}
proc entered {i} {
    global enter_list
    return [expr {[llength $enter_list] ? [lindex $enter_list $i] : 0}]
}
proc left_at {i} {
    global leave_list hops
    return [expr {[llength $leave_list] ? [lindex $leave_list $i] : $hops}]
}
set drop_list [split $P(drop) ,]
set end [expr {double($P(duration_s))}]
set from [expr {double($P(measure_from_s))}]
if {$from >= $end} { fail "measure_from_s must be below duration_s" }

# ns-2 keeps the RTT error in a C short, counted in ticks: an RTT of 32768
# ticks or more corrupts the retransmission timeout.
set longest $P(rtt_s)
foreach r $rtt_list { if {$r > $longest} { set longest $r } }
set longest [expr {$longest + $P(queue_packets) * $wire * 8.0 / $P(rate_bps)}]
if {$longest / $P(tick_s) > 32767} {
    fail "tick_s is too fine: the longest RTT exceeds 32767 ticks"
}

# ----------------------------------------------------------------- simulator

# Only the headers that are read are allocated.  Flags is needed even without
# ECN: TcpAgent::newack reads no_ts_ from it, and without the header that read
# would hit an unrelated field.
if {!$P(stock)} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
    if {$P(cbr) > 0} { add-packet-header RTP }
    if {$has_tfrc} { add-packet-header TFRC TFRC_ACK }
}

# All schedulers give the same packet sequence.  Splay is the fastest here;
# Heap searches linearly on cancel (each ACK restarts a timer) and List on
# insert.
set ns [new Simulator]
if {!$P(stock)} {
    $ns use-scheduler $P(scheduler)
    if {$hops == 1} { $ns rtproto Manual }
}

# The default generator serves RED and the boot-time tick offset; the loss
# model gets a generator of its own so that its sequence depends on the seed
# alone.
$defaultRNG seed $P(seed)
set loss_rng [new RNG]
$loss_rng seed [expr {1000 + $P(seed)}]

for {set h 0} {$h <= $hops} {incr h} { set router($h) [$ns node] }

# One direction of a link.  The reverse path never limits anything; with
# fixed_ack=1 it is an exact delay: propagation plus the serialisation of
# ack_bytes, so the SACK blocks that ns-2 adds to an ACK (8 bytes each, no
# switch exists) do not change its timing.
proc one_way {from to bps delay kind limit} {
    global ns P
    if {$kind eq "ack" && $P(fixed_ack)} {
        set delay [expr {$delay + $P(ack_bytes) * 8.0 / $bps}]
        set bps 1e18
    }
    set type [expr {$kind eq "bottleneck" ? $P(queue) : "DropTail"}]
    $ns simplex-link $from $to $bps $delay $type
    set link [$ns link $from $to]
    [$link queue] set limit_ $limit
    return $link
}

# Manual routing: the all-pairs computation would be part of $ns run.  It is
# what comes as it is, so stock=1 leaves it in.
proc route {node args} {
    global P hops
    if {$P(stock) || $hops > 1} { return }
    eval [$node get-module Manual] add-route-to-adj-node $args
}

# ns-2 queue limit.  The packet being transmitted has left the queue object.
# DropTail drops when (waiting + 1) >= limit_, so at most limit_ - 1 packets
# wait: limit_ counts the packet in transmission.  RED drops when waiting >=
# limit_, so limit_ packets wait besides the one in transmission.
set limit [expr {int($P(queue_packets))}]
set no_limit 100000000

if {$P(queue) eq "RED"} {
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ $wire
    Queue/RED set thresh_ $P(thresh)
    Queue/RED set maxthresh_ $P(maxthresh)
    Queue/RED set q_weight_ $P(q_weight)
    Queue/RED set linterm_ $P(linterm)
    Queue/RED set gentle_ $P(gentle)
    Queue/RED set adaptive_ $P(adaptive)
    Queue/RED set setbit_ $P(setbit)
} elseif {$P(queue) ne "DropTail"} {
    fail "queue must be DropTail or RED"
}

set bnecks {}
for {set h 0} {$h < $hops} {incr h} {
    set next [expr {$h + 1}]
    lappend bnecks [one_way $router($h) $router($next) $P(rate_bps) $P(bottleneck_delay_s) bottleneck $limit]
    set bback [one_way $router($next) $router($h) $P(rate_bps) $P(bottleneck_delay_s) ack $no_limit]
}
# The first one is where losses are chosen, and where the queue is watched.
set bneck [lindex $bnecks 0]
route $router(0) -default $router(1)
route $router($hops) -default $router([expr {$hops - 1}])

# express=1 takes the TTL checkers and the host address and port classifiers
# out of the packet path: objects that pass every packet on unchanged.  Only
# the two routers keep a classifier, and only when there are several hosts.
proc shortcut {link next} {
    global P
    if {$P(express)} { [$link link] target $next }
}

proc insert_after_link {link object} {
    $object target [[$link link] target]
    [$link link] target $object
}

proc attach_path {left right rtt enter leave} {
    global ns P router no_limit
    set crossed [expr {($leave - $enter) * $P(bottleneck_delay_s)}]
    set access [expr {($rtt / 2.0 - $crossed) / 2.0}]
    if {$access < 0} { fail "RTT $rtt is shorter than the bottleneck delay" }
    set a $router($enter)
    set b $router($leave)
    set in [one_way $left $a $P(access_bps) $access data $no_limit]
    set out [one_way $b $right $P(access_bps) $access data $no_limit]
    set aback [one_way $right $b $P(access_bps) $access ack $no_limit]
    set sback [one_way $a $left $P(access_bps) $access ack $no_limit]
    route $left -default $a
    route $right -default $b
    route $a $left
    route $b $right
    return [list $in $out $aback $sback]
}

# The clocks start with the first event: routing tables are set-up, too.
proc start_clocks {} {
    global wall0 cpu0
    set wall0 [clock microseconds]
    set cpu0 [cpu_s]
}
$ns at 0 start_clocks

# --------------------------------------------------------------------- flows

set sink_class Agent/TCPSink
if {$P(agent) eq "Sack1"} { append sink_class /Sack1 }
if {$P(delack)} { append sink_class /DelAck }
set tcp_class Agent/TCP
if {$P(agent) ne "Tahoe"} { append tcp_class /$P(agent) }
if {[lsearch {Sack1 Newreno Reno Tahoe Vegas} $P(agent)] < 0} {
    fail "agent must be Sack1, Newreno, Reno, Tahoe or Vegas"
}

proc new_tcp {i} {
    global P tcp_class sink_class wire
    set t [new $tcp_class]
    $t set windowOption_ $P(window_option)
    $t set window_ $P(maxwindow)
    $t set windowInit_ $P(iw)
    $t set windowInitOption_ 1
    $t set maxburst_ $P(maxburst)
    $t set minrto_ $P(minrto_s)
    $t set tcpTick_ $P(tick_s)
    $t set timestamps_ $P(timestamps)
    $t set singledup_ $P(singledup)
    $t set LimTransmitFix_ $P(limtransmit_fix)
    $t set ecn_ $P(ecn)
    # Packet size: with useHeaders_ the base header and the timestamp option
    # would be added to packetSize_, except to packet 0.  Without it every
    # data packet is exactly packetSize_ bytes.
    $t set useHeaders_ false
    $t set packetSize_ $wire
    $t set tcpip_base_hdr_size_ $P(header)
    # syn=0: packet 0 is a full data packet and the first window is iw.
    $t set syn_ $P(syn)
    $t set delay_growth_ $P(syn)
    if {$P(agent) eq "Sack1"} { $t set partial_ack_ $P(partial_ack) }
    $t set fid_ $i

    set s [new $sink_class]
    $s set packetSize_ $P(ack_bytes)
    if {$P(agent) eq "Sack1"} { $s set maxSackBlocks_ $P(sack_blocks) }
    if {$P(delack)} { $s set interval_ $P(delack_s) }
    return [list $t $s]
}

# ns-2's defaults but for the sizes. The header is added to packetSize_. The
# first sink writes its loss event rate at each report to standard output.
proc new_tfrc {i} {
    global P printing
    set t [new Agent/TFRC]
    $t set packetSize_ $P(payload)
    $t set useHeaders_ true
    $t set headersize_ $P(header)
    $t set fid_ $i
    set s [new Agent/TFRCSink]
    $s set printLoss_ [expr {![info exists printing]}]
    set printing 1
    return [list $t $s]
}

for {set i 0} {$i < $flows} {incr i} {
    set rtt [expr {[llength $rtt_list] ? [lindex $rtt_list $i] : $P(rtt_s)}]
    set left [$ns node]
    set right [$ns node]
    set path($i) [attach_path $left $right $rtt [entered $i] [left_at $i]]

    if {[is_tfrc $i]} {
        foreach {t s} [new_tfrc $i] break
    } else {
        foreach {t s} [new_tcp $i] break
    }

    $ns attach-agent $left $t
    $ns attach-agent $right $s
    $ns connect $t $s
    set tcp($i) $t
    set sink($i) $s

    foreach {in out aback sback} $path($i) break
    if {$P(express)} {
        $t target [$in head]
        $s target [$aback head]
    }
    shortcut $in [$bneck head]
    shortcut $out $s
    shortcut $aback [$bback head]
    shortcut $sback $t

    if {[llength $start_list]} {
        set start($i) [lindex $start_list $i]
    } else {
        set start($i) [expr {$i * double($P(start_spread_s)) / $flows}]
    }
    # ssthresh_ is reset to maxwindow by $ns run, so it is set at the start.
    set script [expr {[is_tfrc $i] ? "$t start" : "$t send -1"}]
    if {$P(ssthresh) > 0 && ![is_tfrc $i]} {
        set script "$t set ssthresh_ [expr {int($P(ssthresh))}]; $script"
    }
    $ns at $start($i) $script
}

if {$P(cbr) > 0} {
    set left [$ns node]
    set right [$ns node]
    foreach {in out aback sback} [attach_path $left $right $P(rtt_s) 0 $hops] break
    set udp [new Agent/UDP]
    $udp set packetSize_ $wire
    $udp set fid_ $flows
    set null [new Agent/Null]
    $ns attach-agent $left $udp
    $ns attach-agent $right $null
    $ns connect $udp $null
    set app [new Application/Traffic/CBR]
    $app set packetSize_ $wire
    $app set rate_ $P(cbr)
    $app set random_ 0
    $app attach-agent $udp
    if {$P(express)} { $udp target [$in head] }
    shortcut $in [$bneck head]
    shortcut $out $null
    $ns at 0 "$app start"
}

if {$flows == 1 && $P(cbr) <= 0} {
    foreach {in out aback sback} $path(0) break
    shortcut $bneck [$out head]
    shortcut $bback [$sback head]
} else {
    shortcut $bneck [$router(1) entry]
    shortcut $bback [$router(0) entry]
}

# ---------------------------------------------------- monitors and loss model

set drops [$bneck set drophead_]
if {$P(monitor)} {
    set qmon [new QueueMonitor/ED]
    set area [new Integrator]
    $qmon set-pkts-integrator $area
    $bneck attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] \
        [new SnoopQueue/Drop] $qmon
    if {$P(queue) eq "RED"} {
        set edrop [new SnoopQueue/EDrop]
        $edrop set-monitor $qmon
        $edrop target [$ns set nullAgent_]
        [$bneck queue] early-drop-target $edrop
    }
}

# Of the other bottlenecks only the drops are counted.
set other_mons {}
if {$P(monitor)} {
    foreach link [lrange $bnecks 1 end] {
        set mon [new QueueMonitor]
        $link attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] [new SnoopQueue/Drop] $mon
        lappend other_mons $mon
    }
}

# A loss model's drops go to a monitor of their own, not to the queue's.
proc lossy {model} {
    global ns
    set mon [new QueueMonitor]
    set snoop [new SnoopQueue/Drop]
    $snoop set-monitor $mon
    $snoop target [$ns set nullAgent_]
    $model drop-target $snoop
    return $mon
}

set loss_mon ""
if {$P(loss) > 0 || $P(loss_list) ne ""} {
    if {$P(loss_list) ne ""} {
        set file [open $P(loss_list)]
        set em [new ErrorModel/List]
        $em droplist [read $file]
        close $file
    } else {
        set em [new ErrorModel]
        $em set rate_ $P(loss)
        set var [new RandomVariable/Uniform]
        $var use-rng $loss_rng
        $em ranvar $var
    }
    $em unit pkt
    set loss_mon [lossy $em]
    switch $P(loss_at) {
        before  { $bneck add-to-head $em }
        after   { insert_after_link $bneck $em }
        default { fail "loss_at must be before or after" }
    }
}

# ------------------------------------------- packet log and chosen-packet drop

# A tap is a Trace object that hands every packet's text record to a Tcl
# procedure and passes the packet on.  Used only with trace= or drop=.
proc tap {procedure} {
    set t [new Trace/Generic]
    $t set callback_ 1
    $t proc handle record "$procedure \$record"
    return $t
}

proc log {event seq} {
    global ns log_file tcp
    set state [$tcp(0) set [expr {[is_tfrc 0] ? "rate_" : "cwnd_"}]]
    puts $log_file [format "%.9f %s 0 %d %s" [$ns now] $event $seq $state]
}

# Fields of a trace record: 7 is the flow id, 10 the sequence number.
proc on_event {event record} {
    if {[lindex $record 7] == 0} { log $event [lindex $record 10] }
}

if {$P(trace) ne ""} {
    set log_file [open $P(trace) w]
    puts $log_file "# time_s event flow seq cwnd"
    foreach {in out aback sback} $path(0) break
    $in add-to-head [tap "on_event send"]
    insert_after_link $out [tap "on_event recv"]
    $aback add-to-head [tap "on_event sendack"]
    insert_after_link $sback [tap "on_event recvack"]
    set t [tap "on_event drop"]
    $t target [$drops target]
    $drops target $t
    if {$P(queue) eq "RED" && $P(monitor)} {
        set t [tap "on_event drop"]
        $t target [$edrop target]
        $edrop target $t
    }
    if {$P(loss) > 0 || $P(loss_list) ne ""} {
        set t [tap "on_event drop"]
        set d [$em drop-target]
        $t target $d
        $em drop-target $t
    }
}

# reports=FILE: the rate of flow 0, bytes per second, after each report.
proc log_rate {} {
    global ns reports_file tcp
    puts $reports_file [format "%.9f %.9g" [$ns now] [$tcp(0) set rate_]]
}

# An event of the same instant comes after the one that is being processed.
proc on_report {record} {
    global ns
    if {[lindex $record 7] == 0} { $ns at [$ns now] log_rate }
}

if {$P(reports) ne ""} {
    set reports_file [open $P(reports) w]
    foreach {in out aback sback} $path(0) break
    insert_after_link $sback [tap on_report]
}

set forced_mon ""
if {[llength $drop_list] > 0} {
    foreach n $drop_list { set pending([expr {int($n)}]) 1 }
    set forced [new ErrorModel]
    $forced unit pkt
    $forced set rate_ 0
    set forced_mon [lossy $forced]
    if {$P(trace) ne ""} {
        set t [tap "on_event drop"]
        $t target [$forced drop-target]
        $forced drop-target $t
    }
    proc choose {record} {
        global forced pending
        set hit 0
        if {[lindex $record 7] == 0} {
            set seq [lindex $record 10]
            if {[info exists pending($seq)]} {
                unset pending($seq)
                set hit 1
            }
        }
        $forced set rate_ [expr {$hit ? 1.0 : 0.0}]
    }
    # Order at the head of the bottleneck: tap, then model, then the rest.
    $bneck add-to-head $forced
    $bneck add-to-head [tap choose]
}

# -------------------------------------------------------------------- results

# The sink's bytes_ is the in-order byte count, a 32-bit integer that wraps.
# The sender's cumulative ack is within one window of it and removes the
# ambiguity.
proc delivered {i} {
    global tcp sink wire
    if {[is_tfrc $i]} { return [expr {[$sink($i) set bytes_] / $wire}] }
    set acked [expr {[$tcp($i) set ack_] + 1}]
    set ahead [expr {([$sink($i) set bytes_] - $acked * $wire) & 0xffffffff}]
    if {$ahead >= 0x80000000} { set ahead [expr {$ahead - 0x100000000}] }
    return [expr {$acked + $ahead / $wire}]
}

proc queue_state {} {
    global ns P qmon area loss_mon forced_mon other_mons
    set state [list arrivals 0 drops 0 early 0 marks 0 area 0 loss 0 forced 0]
    array set s $state
    if {$P(monitor)} {
        $area newpoint [$ns now] [$area set lasty_]
        set s(arrivals) [$qmon set parrivals_]
        set s(drops) [$qmon set pdrops_]
        foreach mon $other_mons { incr s(drops) [$mon set pdrops_] }
        set s(early) [$qmon set epdrops_]
        set s(marks) [$qmon set pmarks_]
        set s(area) [$area set sum_]
    }
    if {$loss_mon ne ""} { set s(loss) [$loss_mon set pdrops_] }
    if {$forced_mon ne ""} { set s(forced) [$forced_mon set pdrops_] }
    return [array get s]
}

set counters {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_ necnresponses_}

# TFRC counts its packets only.
proc counter {i name} {
    global tcp
    if {[is_tfrc $i] && $name ne "ndatapack_"} { return 0 }
    return [$tcp($i) set $name]
}

proc snapshot {} {
    global flows base base_queue tcp counters
    for {set i 0} {$i < $flows} {incr i} {
        set base($i) [delivered $i]
        foreach c $counters { set base($i,$c) [counter $i $c] }
    }
    set base_queue [queue_state]
}

proc join_json {list} { return "\[[join $list ,]\]" }

proc json_value {v} {
    if {[regexp {^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$} $v]} { return $v }
    return "\"[string map {\\ \\\\ \" \\\"} $v]\""
}

# Processor time of this process so far, in seconds.
proc cpu_s {} {
    if {[catch {open /proc/self/schedstat} f]} { return 0 }
    set text [read $f]
    close $f
    return [expr {[lindex $text 0] / 1e9}]
}

proc peak_rss_kb {} {
    if {[catch {open /proc/self/status} f]} { return 0 }
    set text [read $f]
    close $f
    if {[regexp {VmHWM:\s+(\d+)} $text -> kb]} { return $kb }
    return 0
}

proc finish {} {
    global ns P flows wire end from tcp base base_queue counters defaults
    global wall0 cpu0 setup_start log_file reports_file
    set wall [expr {([clock microseconds] - $wall0) / 1e6}]
    set cpu [expr {[cpu_s] - $cpu0}]
    # Every scheduled event takes the next id, so this one's id is the count.
    set events [$ns at $end {}]

    foreach c {whole window sent rexmit timeouts cuts ecn goodput wsent \
               wrexmit wtimeouts wcuts} { set $c {} }
    set total 0
    set wtotal 0
    set span [expr {$end - $from}]
    for {set i 0} {$i < $flows} {incr i} {
        set n [delivered $i]
        set w [expr {$n - $base($i)}]
        incr total $n
        incr wtotal $w
        lappend whole $n
        lappend window $w
        lappend goodput [format %.0f [expr {$w * $P(payload) * 8.0 / $span}]]
        foreach {c whole_list window_list} {
            ndatapack_ sent wsent nrexmitpack_ rexmit wrexmit
            nrexmit_ timeouts wtimeouts ncwndcuts_ cuts wcuts
        } {
            set v [counter $i $c]
            lappend $whole_list $v
            lappend $window_list [expr {$v - $base($i,$c)}]
        }
        lappend ecn [counter $i necnresponses_]
    }
    array set q0 $base_queue
    array set q [queue_state]

    set params {}
    foreach {key -} $defaults {
        lappend params "\"$key\":[json_value $P($key)]"
    }
    set out {}
    lappend out "\"simulator\":\"ns-2\""
    lappend out "\"ns_version\":\"[ns-version]\""
    lappend out "\"parameters\":{[join $params ,]}"
    lappend out "\"wire_bytes\":$wire"
    lappend out "\"delivered_segments\":[join_json $whole]"
    lappend out "\"window_delivered_segments\":[join_json $window]"
    lappend out "\"goodput_bps\":[join_json $goodput]"
    lappend out "\"total_delivered_segments\":$total"
    lappend out "\"total_window_delivered_segments\":$wtotal"
    lappend out "\"total_goodput_bps\":[format %.0f \
        [expr {$wtotal * $P(payload) * 8.0 / $span}]]"
    foreach {name list} {
        sent sent retransmits rexmit timeouts timeouts cwnd_cuts cuts
        window_sent wsent window_retransmits wrexmit
        window_timeouts wtimeouts window_cwnd_cuts wcuts ecn_responses ecn
    } { lappend out "\"$name\":[join_json [set $list]]" }
    lappend out "\"bottleneck\":{[join [list \
        "\"arrivals\":$q(arrivals)" \
        "\"drops\":$q(drops)" \
        "\"early_drops\":$q(early)" \
        "\"marks\":$q(marks)" \
        "\"random_loss_drops\":$q(loss)" \
        "\"forced_drops\":$q(forced)" \
        "\"mean_waiting\":[format %.4f [expr {$q(area) / $end}]]" \
        "\"window_arrivals\":[expr {$q(arrivals) - $q0(arrivals)}]" \
        "\"window_drops\":[expr {$q(drops) - $q0(drops)}]" \
        "\"window_marks\":[expr {$q(marks) - $q0(marks)}]" \
        "\"window_random_loss_drops\":[expr {$q(loss) - $q0(loss)}]" \
        "\"window_mean_waiting\":[format %.4f \
            [expr {($q(area) - $q0(area)) / $span}]]"] ,]}"
    set per_s [expr {$wall > 0 ? $total / $wall : 0}]
    lappend out "\"setup_s\":[format %.6f [expr {($wall0 - $setup_start) / 1e6}]]"
    lappend out "\"wall_s\":[format %.6f $wall]"
    lappend out "\"cpu_s\":[format %.6f $cpu]"
    lappend out "\"delivered_segments_per_wall_s\":[format %.0f $per_s]"
    lappend out "\"events\":$events"
    lappend out "\"peak_rss_kb\":[peak_rss_kb]"
    # Sinks of TFRC write to standard output, too.
    set to stdout
    if {$P(result) ne ""} { set to [open $P(result) w] }
    puts $to "{[join $out ,]}"
    if {$P(result) ne ""} { close $to }
    foreach file {log_file reports_file} {
        if {[info exists $file]} { close [set $file] }
    }
    exit 0
}

if {$from > 0} { $ns at $from snapshot } else { snapshot }
$ns at $end finish
set wall0 0
set cpu0 0
$ns run
