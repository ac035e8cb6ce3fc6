# flood.py SNUG PORT SECONDS: asks the page of an agent without a pause, over connections that stay open for two halves of SECONDS, and
# prints its CPU time in each, in % of one CPU, and how many of 40 requests of others were answered meanwhile.
import socket,subprocess,sys,time,os
exe,port,secs=sys.argv[1],int(sys.argv[2]),float(sys.argv[3])
p=subprocess.Popen([exe,'cluster','agent','--listen','127.0.0.1:%d'%port,'--interval','1h'],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)
def cpu():
    f=open('/proc/%d/stat'%p.pid).read().rsplit(')',1)[1].split(); return (int(f[11])+int(f[12]))/os.sysconf('SC_CLK_TCK')
def get(src,path,s=None):
    if s is None:
        s=socket.create_connection(('127.0.0.1',port),30,(src,0))
    s.sendall(('GET %s HTTP/1.1\r\nHost: x\r\n\r\n'%path).encode())
    d=b''
    while b'\r\n\r\n' not in d:
        m=s.recv(65536)
        if not m: raise OSError('closed')
        d+=m
    head,body=d.split(b'\r\n\r\n',1); code=int(head.split()[1])
    low=head.lower()
    if b'content-length:' in low:
        n=int(low.split(b'content-length:')[1].split(b'\r\n')[0])
        while len(body)<n: body+=s.recv(65536)
    else:
        while not body.endswith(b'0\r\n\r\n'): body+=s.recv(65536)
    return code,(None if b'connection: close' in low else s)
while True:
    try:
        if get('127.0.0.3','/')[0]==200: break
    except OSError: pass
    time.sleep(.2)
time.sleep(2)
codes={}; s=None
def flood(until):
    global s
    while time.time()<until:
        try: c,s=get('127.0.0.2','/',s)
        except OSError: s=None; c='lost'
        codes[c]=codes.get(c,0)+1
import threading
def half():
    t,c=time.time(),cpu()
    f=threading.Thread(target=flood,args=(t+secs/2,)); f.start()
    ok=0
    for i in range(20):
        ok+=get('127.0.0.%d'%(4+i),'/healthz' if i%2 else '/')[0]==200
        time.sleep(.1)
    f.join()
    return 100*(cpu()-c)/(time.time()-t),ok
a,b=half(),half()
print('%s\t%.1f\t%.1f\t%s\t%d of 40'%(os.path.basename(exe),a[0],b[0],codes,a[1]+b[1]))
p.terminate(); p.wait()
